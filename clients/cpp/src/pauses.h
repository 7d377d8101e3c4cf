#pragma once

#include <chrono>
#include <optional>

namespace happycity {

/// How long a bot waits before it connects again: the pauses double until its server plays again.
class Pauses {
 public:
  using Milliseconds = std::chrono::milliseconds;
  using Time = std::chrono::steady_clock::time_point;

  explicit Pauses(Milliseconds reconnect) : reconnect_(reconnect) {}

  /// Returns the pause after a stream that brought some messages; nothing gives the server up. The delay is what the
  /// server asks for at least. Chance takes a share of the pause, from 0 to 1: it spreads the bots of a server that was
  /// restarted.
  std::optional<Milliseconds> next(Time now, int messages, Milliseconds delay, double share);

  /// When the last stream ended that the server had welcomed.
  Time lost_at() const { return lost_at_; }

 private:
  static constexpr Milliseconds first{100}, longest{5000};

  Milliseconds reconnect_;
  Milliseconds bound_ = first;
  Time lost_at_;
};

}  // namespace happycity
