#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "happycity/v1/play_service.pb.h"

namespace happycity {

/// The whole public state of a game.
using View = v1::View;
/// A legal move of a decision.
using Move = v1::Move;
/// One thing that happened in a game.
using Event = v1::Event;

/// A choice that waits for a bot. It carries everything, so a bot need not remember anything.
class Decision {
 public:
  using Clock = std::chrono::steady_clock;

  /// Makes a decision that has just come. Bots get theirs from the library; this is for tests.
  explicit Decision(v1::Decision message);

  /// The match.
  std::int64_t match_id() const { return message_.match_id(); }
  /// Counts the decisions of the match, all seats together, from 1.
  std::uint32_t decision_id() const { return message_.decision_id(); }
  /// The bot's own seat.
  int seat() const { return static_cast<int>(message_.view().seat()); }
  /// The legal moves, two or more. The first is the neutral one.
  const google::protobuf::RepeatedPtrField<Move>& moves() const { return message_.moves(); }
  /// The whole public state.
  const View& view() const { return message_.view(); }
  /// What happened since this seat's last decision.
  const google::protobuf::RepeatedPtrField<Event>& events() const { return message_.events(); }
  /// The message of the server.
  const v1::Decision& message() const { return message_; }

  /// Returns how long it takes from now until the decision is late, the way of the answer included; nothing if there
  /// is no limit.
  std::optional<Clock::duration> time_left() const;

  /// Returns what is left in the seat's bank for this game; nothing if there is no bank.
  std::optional<Clock::duration> bank_left() const;

  /// Returns how long the seat's last decision took on the server's clock; nothing before the first one.
  std::optional<Clock::duration> last_think() const;

  /// Returns the last measured round trip, a part of the think time; nothing before the first one.
  std::optional<Clock::duration> round_trip() const;

  /// Returns whether an answer may still be of use: the decision is not late, its game goes on, and the bot has not
  /// been stopped.
  bool is_open() const { return is_open_ && Clock::now() < deadline_; }

  /// Sends a number about the choice with it, such as depth or nodes, for records and reports. Any thread may do that.
  ///
  /// It doesn't affect the game. A later number replaces an earlier one of the same name. The server keeps at most 16
  /// numbers of a choice, finite ones, with names of 1 to 32 letters, digits or any of "._-+".
  void note(std::string_view name, double number) const;

  /// Returns what has been noted so far, for the tests of a bot.
  std::map<std::string, double> notes() const;

 private:
  friend struct Game;

  void close() { is_open_ = false; }

  const v1::Decision message_;
  const Clock::time_point deadline_;
  std::atomic<bool> is_open_ = true;
  mutable std::mutex notes_mutex_;
  mutable std::map<std::string, double> notes_;
};

}  // namespace happycity
