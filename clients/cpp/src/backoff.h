#pragma once

#include <chrono>
#include <random>

namespace happycity {

/// How long to wait between two attempts to connect: a random share of a bound that doubles with every attempt. The
/// randomness spreads the bots of a server that was restarted.
class Backoff {
 public:
  static constexpr std::chrono::milliseconds first_pause{100};
  static constexpr std::chrono::milliseconds longest_pause{5000};

  std::chrono::milliseconds next();

  /// Starts again, after a connection that was of use.
  void reset() { bound_ = first_pause; }

 private:
  std::chrono::milliseconds bound_ = first_pause;
  std::mt19937 random_{std::random_device{}()};
};

}  // namespace happycity
