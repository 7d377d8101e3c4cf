#include "player.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <typeinfo>

#include "text.h"

namespace happycity {
namespace {

/// How long bots may go on thinking when the program is to end.
constexpr std::chrono::seconds closing_time{1};
/// Answers wait this long for others while bots have more to do. A bot that thinks longer is not held up.
constexpr std::chrono::milliseconds gathering_time{5};

/// Calls the author's code, without the mutex. Returns type and message of its exception; empty if there is none.
std::string call(std::unique_lock<std::mutex>& lock, const std::function<void()>& code) {
  std::string reason;
  lock.unlock();
  try {
    code();
  } catch (const std::exception& error) {
    const char* const name = typeid(error).name();
    const std::unique_ptr<char, decltype(&std::free)> readable(abi::__cxa_demangle(name, nullptr, nullptr, nullptr),
                                                               std::free);
    reason = one_line(std::string(readable != nullptr ? readable.get() : name) + ": " + error.what());
  } catch (...) {
    reason = "something was thrown that is not a std::exception";
  }
  lock.lock();
  return reason;
}

}  // namespace

/// A bot in one seat of a match, the last decision that it was asked, and its reply. Guarded by the mutex of Player.
struct Player::Game {
  /// Takes back the decision that the bot was asked.
  void withdraw() {
    if (decision != nullptr) {
      decision->is_open_ = false;
      decision = nullptr;
    }
  }

  const GameStarted started;
  std::unique_ptr<Bot> bot = {};  // belongs to the thread that serves the game
  bool is_busy = false;           // whether a thread serves the game, or will
  bool is_done = false;           // whether the bot is not called any more: it has crashed, or its game is over

  std::uint32_t asked = 0;                  // the last decision that the bot was asked, or 0
  std::uint32_t round = 0;                  // the round of that decision
  bool is_awaited = true;                   // whether the server has asked on the present connection
  std::shared_ptr<Decision> decision = {};  // what the bot has to answer, or thinks about
  v1::PlayRequest reply = {};               // the answer to the decision that was asked last, or a resignation, if any
  std::optional<v1::GameOver> over = {};    // how the game ended, until the bot knows
};

void Player::start(unsigned threads) {
  const Lock lock(mutex_);
  threads_ = threads > 0 ? threads : std::max(1u, std::thread::hardware_concurrency());
  for (unsigned i = 0; i < threads_; i++) {
    std::thread([self = shared_from_this()] { self->work(); }).detach();
  }
}

void Player::welcome(const v1::Welcome& welcome, Send send) {
  const Lock lock(mutex_);
  send_ = std::move(send);
  v1::GameOver over;
  over.mutable_outcome()->set_void_reason(v1::VOID_REASON_UNKNOWN);
  for (auto next = games_.begin(); next != games_.end();) {
    over.set_match_id(next->first.first);
    next = games_.upper_bound({over.match_id(), UINT32_MAX});
    if (std::ranges::find(welcome.match_ids(), over.match_id()) == welcome.match_ids().end()) {
      end(over);
    }
  }
}

void Player::disconnect() {
  const Lock lock(mutex_);
  for (const auto& [id, game] : games_) {
    game->is_awaited = false;
  }
  gathered_.Clear();
  send_ = nullptr;
}

void Player::handle(v1::PlayResponse& batch) {
  const Lock lock(mutex_);
  gathered_since_ = Clock::now();
  for (GameStarted& started : *batch.mutable_games_started()) {
    if (GamePointer& game = games_[{started.match_id(), started.seat()}]; game == nullptr) {
      game.reset(new Game{std::move(started)});
      enqueue(game);
    }
  }
  for (v1::Decision& message : *batch.mutable_decisions()) {
    decide(std::move(message));
  }
  for (const v1::GameOver& over : batch.games_over()) {
    end(over);
  }
  if (queue_.empty()) {
    flush();
  }
}

bool Player::close() {
  Lock lock(mutex_);
  is_closed_ = true;
  for (const auto& [id, game] : games_) {
    game->withdraw();
  }
  changed_.notify_all();
  const bool is_finished = changed_.wait_for(lock, closing_time, [this] { return threads_ == 0; });
  games_.clear();
  return is_finished;
}

/// Has a decision answered: by the bot, or from memory if the server sends it again.
void Player::decide(v1::Decision&& message) {
  const auto found = games_.find({message.match_id(), message.view().seat()});
  if (found == games_.end()) {
    log("WARNING", place(message.match_id(), 0, 0) + "a decision of an unknown game");
    return;
  }
  Game& game = *found->second;
  if (message.decision_id() > game.asked && !game.is_done) {
    game.withdraw();  // the clock has settled the older one
    game.asked = message.decision_id();
    game.round = message.view().round();
    game.reply.Clear();
    game.decision = std::make_shared<Decision>(std::move(message));
    enqueue(found->second);
  } else if (game.is_done ? !game.is_awaited : message.decision_id() == game.asked) {
    gathered_.MergeFrom(game.reply);
  }
  game.is_awaited = true;
}

/// Ends a match: in every seat that the bot has there, the game is over or voided.
void Player::end(const v1::GameOver& over) {
  const auto first = games_.lower_bound({over.match_id(), 0});
  const auto last = games_.upper_bound({over.match_id(), UINT32_MAX});
  for (auto next = first; next != last; next++) {
    Game& game = *next->second;
    if (game.is_done) {
      continue;
    }
    const auto seat = next->first.second;
    const auto& seats = over.outcome().result().seats();
    const v1::SeatResult& own = std::cmp_less(seat, seats.size()) ? seats[seat] : v1::SeatResult::default_instance();
    if (own.ending() > v1::ENDING_FINISHED) {
      const std::string reason = one_line(own.reason() + " (" + v1::Ending_Name(own.ending()) + ")");
      log("WARNING", place(over.match_id(), game.round, game.asked) + "the seat was forfeited: " + reason);
    }
    game.withdraw();
    game.over = over;
    enqueue(next->second);
  }
  games_.erase(first, last);
}

/// Has a thread serve a game, if there is anything to do.
void Player::enqueue(const GamePointer& game) {
  if (!game->is_busy && !game->is_done &&
      (game->bot == nullptr || game->decision != nullptr || game->over.has_value())) {
    game->is_busy = true;
    queue_.push_back(game);
    changed_.notify_one();
  }
}

/// Serves the games, one call of a bot after the other, until close().
void Player::work() {
  Lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_closed_ || !queue_.empty(); });
    if (queue_.empty()) {
      break;
    }
    const GamePointer game = std::move(queue_.front());
    queue_.pop_front();
    const auto begin = Clock::now();
    serve(*game, lock);
    game->is_busy = false;
    enqueue(game);  // behind the games that wait
    if (queue_.empty() || Clock::now() - std::min(begin, gathered_since_) > gathering_time) {
      flush();
    }
  }
  threads_--;
  changed_.notify_all();
}

/// Does what is next for a bot.
void Player::serve(Game& game, Lock& lock) {
  if (game.bot == nullptr) {
    const std::string reason = call(lock, [&] { game.bot = factory_(game.started); });
    if (game.bot == nullptr) {
      crash(game, reason.empty() ? "the factory returned no bot" : reason);
    }
  } else if (game.decision != nullptr) {
    think(game, lock);
  } else if (game.over.has_value()) {
    const v1::GameOver& over = *game.over;  // changes no more
    const std::string reason = call(lock, [&] {
      over.outcome().has_result() ? game.bot->game_over(over)
                                  : game.bot->game_voided(over.match_id(), over.outcome().void_reason());
    });
    if (!reason.empty()) {
      crash(game, reason);
    }
    game.is_done = true;
  }
  if (game.is_done) {
    call(lock, [&] { game.bot.reset(); });
  }
}

void Player::think(Game& game, Lock& lock) {
  const std::shared_ptr<Decision> decision = game.decision;
  std::size_t position = 0;
  const std::string reason = call(lock, [&] {
    position = game.bot->choose(*decision);
    if (const auto moves = decision->moves().size(); std::cmp_greater_equal(position, moves)) {
      throw std::out_of_range("the bot chose move " + std::to_string(static_cast<std::ptrdiff_t>(position)) +
                              ", and there are " + std::to_string(moves));
    }
  });
  if (game.decision != decision) {
    return;  // settled meanwhile
  }
  game.decision = nullptr;
  if (reason.empty()) {
    const auto notes = decision->notes();
    v1::Answer& answer = *game.reply.add_answers();
    answer.set_match_id(game.started.match_id());
    answer.set_decision_id(game.asked);
    answer.set_move(static_cast<std::uint32_t>(position));
    answer.mutable_metrics()->insert(notes.begin(), notes.end());
    reply(game);
  } else if (decision->is_open()) {
    crash(game, reason);
  }
}

/// Gives up a game in which the bot crashed; its other games go on.
void Player::crash(Game& game, const std::string& reason) {
  log("ERROR", place(game.started.match_id(), game.round, game.asked) + "the bot crashed: " + reason);
  game.is_done = true;
  v1::Resign& resign = *game.reply.add_resigns();
  resign.set_match_id(game.started.match_id());
  resign.set_seat(game.started.seat());
  resign.set_crashed(true);
  resign.set_reason(reason);
  reply(game);
}

/// Sends a bot's reply, if the server waits for it on the present connection.
void Player::reply(const Game& game) {
  if (game.is_awaited && !game.over.has_value()) {
    gathered_.MergeFrom(game.reply);
  }
}

/// Sends the replies that have gathered.
void Player::flush() {
  gathered_since_ = Clock::now();
  if (gathered_.ByteSizeLong() > 0) {
    send_(gathered_);
    gathered_.Clear();
  }
}

}  // namespace happycity
