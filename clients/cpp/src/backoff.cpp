#include "backoff.h"

#include <algorithm>

namespace happycity {

std::chrono::milliseconds Backoff::next() {
  std::uniform_int_distribution<std::chrono::milliseconds::rep> below(0, bound_.count() - 1);
  bound_ = std::min(2 * bound_, longest_pause);
  return std::chrono::milliseconds(below(random_));
}

}  // namespace happycity
