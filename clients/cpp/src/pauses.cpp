#include "pauses.h"

#include <algorithm>

namespace happycity {

std::optional<Pauses::Milliseconds> Pauses::next(Time now, int messages, Milliseconds delay, double share) {
  if (messages > 0) {
    lost_at_ = now;
  }
  if (messages > 1) {  // a server that only welcomes and drops bots is not to be hammered
    bound_ = first;
  }
  const auto left = reconnect_ - std::chrono::floor<Milliseconds>(now - lost_at_);
  if (left <= delay) {
    return std::nullopt;
  }
  const auto chosen = std::chrono::round<Milliseconds>(share * std::chrono::duration<double, std::milli>(bound_));
  const auto pause = std::max(delay, std::min(left, chosen));
  bound_ = std::min(2 * bound_, Milliseconds(longest));
  return pause;
}

}  // namespace happycity
