#pragma once

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "happycity/position.h"
#include "happycity/v1/catalogue_service.pb.h"
#include "happycity/v1/play_service.pb.h"

namespace happycity {

/// A card, by its number.
using Card = v1::Card;
/// A card's printed values.
using CardInfo = v1::CardInfo;

/// Returns all cards, in the order of their numbers, which begin with 1, and a digest of them.
const v1::Catalogue& catalogue();

/// Returns the printed values of a card. Of a card that this version doesn't know, all are 0 or empty.
const CardInfo& info_of(Card card);

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

  /// The bot's own seat.
  int seat() const { return static_cast<int>(message_.view().seat()); }
  /// The legal moves, two or more. The first is the neutral one.
  const google::protobuf::RepeatedPtrField<Move>& moves() const { return message_.moves(); }
  /// The whole public state.
  const View& view() const { return message_.view(); }
  /// What happened since this seat's last decision.
  const google::protobuf::RepeatedPtrField<Event>& events() const { return message_.events(); }
  /// The message of the server, which also has the ids of match and decision, and the clock.
  const v1::Decision& message() const { return message_; }

  /// Returns the native engine's position here, with what is hidden drawn from a seed: for searches.
  Position position(std::uint64_t seed) const { return Position::sample(view(), seed); }

  /// Returns how long it takes from now until the decision is late, the way of the answer included; nothing if there
  /// is no limit.
  std::optional<Clock::duration> time_left() const;

  /// Returns whether an answer may still be of use: the decision is not late, its game goes on, and the bot has not
  /// been stopped.
  bool is_open() const { return is_open_ && time_left() != Clock::duration::zero(); }

  /// Sends a number about the choice with it, such as depth or nodes, for records and reports. Any thread may do that.
  ///
  /// It doesn't affect the game. A later number replaces an earlier one of the same name. The server keeps at most 16
  /// numbers of a choice, finite ones, with names of 1 to 32 letters, digits or any of "._-+".
  void note(std::string_view name, double number) const;

  /// Returns what has been noted so far, for the tests of a bot.
  std::map<std::string, double> notes() const;

 private:
  friend class Player;

  const v1::Decision message_;
  std::optional<Clock::time_point> deadline_;
  std::atomic<bool> is_open_ = true;
  mutable std::mutex notes_mutex_;
  mutable std::map<std::string, double> notes_;
};

/// What a bot gets before its first decision.
using GameStarted = v1::GameStarted;
/// How a game ended: result().seats() are by seat points, place, how the seat ended, and more.
using GameOver = v1::GameOver;
/// Why a match was voided. None of these is a bot's fault.
using VoidReason = v1::VoidReason;

/// A bot in one seat of one game. Its methods are never called at the same time, those of different games are.
class Bot {
 public:
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

/// Reads a decision of a recorded game, for the tests of a bot, with the start of its game and all that happened before.
/// `happycity ask GAME@DECISION --out FILE` writes the file: the message with which a server would send this decision
/// to a bot that begins there. Throws std::runtime_error if the file can't be read, or has something else.
std::pair<GameStarted, v1::Decision> read_decision(const std::filesystem::path& path);

/// Makes a bot for the game of such a file, and returns the move that it chooses there. Throws what the bot and
/// read_decision() throw, and std::out_of_range if the choice is not a move.
Move ask(const Factory& factory, const std::filesystem::path& path);

/// The same for a bot that is one function.
inline Move ask(Choose choose, const std::filesystem::path& path) {
  return ask(stateless(std::move(choose)), path);
}

/// The same for a bot that is a class.
template <std::derived_from<Bot> B>
Move ask(const std::filesystem::path& path) {
  return ask(factory_of<B>(), path);
}

}  // namespace happycity
