#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>

#include "happycity/v1/play_service.pb.h"

namespace happycity {

/// Gathers what is to be sent over one connection, until it is due.
class Outbox {
 public:
  using Clock = std::chrono::steady_clock;

  /// How long an answer waits for others at most, while bots think about other decisions.
  static constexpr std::chrono::milliseconds hold_time{5};
  static constexpr Clock::time_point at_once = Clock::time_point{};
  static constexpr Clock::time_point never = Clock::time_point::max();

  /// `hurried` is called whenever something is due earlier than before.
  explicit Outbox(std::function<void()> hurried, std::chrono::milliseconds hold = hold_time);

  /// Adds an answer; it waits for others, but not for long.
  void answer(const v1::Answer& answer);

  /// Adds that a game is given up. This and the rest don't wait for others.
  void resign(const v1::Resign& resign);

  /// Adds the answer to a ping. A batch holds one: the newest says all that an older one would.
  void pong(std::uint64_t nonce);

  /// Adds that the bot leaves for good.
  void goodbye();

  /// Takes back what is still to be sent about a match.
  void forget(std::int64_t match_id);

  /// Makes due what has gathered. An empty batch is never due: the next answer would be sent on its own.
  void flush();

  /// Returns when the next message is due, or never.
  Clock::time_point due() const;

  /// Replaces a request by what is due, and begins an empty batch; false if nothing is due.
  bool take(v1::PlayRequest& request);

 private:
  bool is_empty() const;

  const std::function<void()> hurried_;
  const std::chrono::milliseconds hold_;
  mutable std::mutex mutex_;
  v1::PlayRequest request_;
  Clock::time_point due_ = never;
};

}  // namespace happycity
