#pragma once

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "happycity/v1/play_service.pb.h"

namespace happycity {

// The messages that a bot gets to see.

/// A choice that waits for a bot. It tells everything, so a bot need not remember anything.
using Decision = v1::Decision;
/// What a bot is told before its first decision.
using GameStarted = v1::GameStarted;
/// How a game ended.
using GameOver = v1::GameOver;
/// Why a game was broken off. None of these is a bot's fault.
using VoidReason = v1::VoidReason;
/// The whole public state of a game.
using View = v1::View;
/// A legal move of a decision.
using Move = v1::Move;
/// One thing that happened in a game.
using Event = v1::Event;
/// A card, by its number.
using Card = v1::Card;

/// A bot in one game. Its methods are never called at the same time, those of different games are.
///
/// An exception resigns the game in which it was thrown; the bot's other games go on.
class Bot {
 public:
  /// The clock of deadlines.
  using Clock = std::chrono::steady_clock;

  Bot() = default;
  Bot(const Bot&) = delete;
  Bot& operator=(const Bot&) = delete;
  virtual ~Bot() = default;

  /// Returns the position of the chosen move in decision.moves(), counted from 0. A position that doesn't
  /// exist resigns the game. An exception after the decision is late or void resigns nothing.
  virtual std::size_t choose(const Decision& decision) = 0;

  /// Tells how the game ended. Nothing is asked after that.
  virtual void game_over(const GameOver& over);

  /// Tells that the game was broken off and counts for nobody. Nothing is asked after that.
  virtual void game_voided(VoidReason reason);

  /// Returns what was noted of the last choice, which a bot's tests may want to see.
  std::map<std::string, double> notes() const;

 protected:
  /// While choose() runs: when the decision is late; Clock::time_point::max() if there is no limit. A bot that
  /// searches for as long as it may has to stop earlier, since an answer takes time to arrive.
  Clock::time_point deadline() const { return deadline_; }

  /// While choose() runs: whether the answer is of no use any more, since the decision is late or void, or the
  /// program is to end.
  bool out_of_time() const { return void_.load(std::memory_order_relaxed) || Clock::now() >= deadline_; }

  /// While choose() runs: sends a number about the choice with it, such as depth or nodes, for records and reports.
  /// Of the numbers of one name the last one is sent. They don't affect the game. The server keeps at most 16 of an
  /// answer, finite ones, with names of at most 32 characters.
  void note(std::string_view name, double number);

 private:
  friend class Games;

  void begin(Clock::time_point deadline);

  std::atomic<bool> void_ = false;
  Clock::time_point deadline_ = Clock::time_point::max();
  mutable std::mutex notes_mutex_;  // a bot may search on threads of its own
  std::map<std::string, double> notes_;
};

/// A bot without a memory, which plays all games; it may be called for several at once.
using Choose = std::function<std::size_t(const Decision&)>;

/// Makes the bot of one game, when that starts. It may be called for several games at once.
using Factory = std::function<std::unique_ptr<Bot>(const GameStarted&)>;

/// Returns the factory of a bot that is one function.
Factory stateless(Choose choose);

/// Returns the factory of a bot that is a class: made from the GameStarted if it takes that, else from nothing.
template <std::derived_from<Bot> B>
Factory factory_of() {
  return [](const GameStarted& start) -> std::unique_ptr<Bot> {
    if constexpr (std::constructible_from<B, const GameStarted&>) {
      return std::make_unique<B>(start);
    } else {
      return std::make_unique<B>();
    }
  };
}

}  // namespace happycity
