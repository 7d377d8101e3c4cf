#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "happycity/decision.h"

namespace happycity {

/// What a bot gets before its first decision.
using GameStarted = v1::GameStarted;
/// Why a match was voided. None of these is a bot's fault.
using VoidReason = v1::VoidReason;

/// How a game ended.
struct GameOver {
  /// The match.
  std::int64_t match_id;
  /// By seat: points, place, how the seat ended, and more.
  google::protobuf::RepeatedPtrField<v1::SeatResult> seats;
};

/// A bot in one seat of one game. Its methods are never called at the same time, those of different games are.
class Bot {
 public:
  Bot() = default;
  Bot(const Bot&) = delete;
  Bot& operator=(const Bot&) = delete;
  virtual ~Bot() = default;

  /// Returns the position of the chosen move in decision.moves(), counted from 0.
  ///
  /// With an exception, or a position that doesn't exist, the bot crashes: it gives up this game and is not called
  /// again, and its other games go on. An exception that comes when the decision is not open any more has no effect.
  virtual std::size_t choose(const Decision& decision) = 0;

  /// Called when the game is over. It is the last call.
  virtual void game_over(const GameOver& /*over*/) {}

  /// Called when the match was voided and does not count. It is the last call.
  virtual void game_voided(std::int64_t /*match_id*/, VoidReason /*reason*/) {}
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
  return [](const GameStarted& started) -> std::unique_ptr<Bot> {
    if constexpr (std::constructible_from<B, const GameStarted&>) {
      return std::make_unique<B>(started);
    } else {
      return std::make_unique<B>();
    }
  };
}

}  // namespace happycity
