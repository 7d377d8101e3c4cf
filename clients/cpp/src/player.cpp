#include "player.h"

#include <cxxabi.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <typeinfo>

#include "text.h"

namespace happycity {
namespace {

/// How long bots may go on thinking when the program is to end.
constexpr std::chrono::seconds closing_time{1};
/// Answers wait this long for others while bots have more to do. A bot that thinks longer is not held up.
constexpr std::chrono::milliseconds gathering_time{5};

std::string place_of(const Game& game) {
  return place(game.started.match_id(), game.round, game.asked);
}

std::string type_of(const std::exception& error) {
  const char* name = typeid(error).name();
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> readable(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                             std::free);
  return readable != nullptr ? readable.get() : name;
}

v1::PlayRequest answer_of(const Decision& decision, std::size_t position) {
  v1::PlayRequest request;
  v1::Answer& answer = *request.add_answers();
  answer.set_match_id(decision.match_id());
  answer.set_decision_id(decision.decision_id());
  answer.set_move(static_cast<std::uint32_t>(position));
  const auto notes = decision.notes();
  answer.mutable_metrics()->insert(notes.begin(), notes.end());
  return request;
}

/// Logs that the server gave the seat up, if it did.
void log_forfeit(const Game& game, const v1::MatchResult& result) {
  if (game.started.seat() >= static_cast<std::uint32_t>(result.seats_size())) {
    return;
  }
  const v1::SeatResult& own = result.seats(static_cast<int>(game.started.seat()));
  if (own.ending() <= v1::ENDING_FINISHED) {
    return;
  }
  std::string ending = v1::Ending_Name(own.ending());  // empty if only a newer server knows it
  ending = ending.empty() ? "other" : ending.substr(std::string_view("ENDING_").size());
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return std::tolower(c); });
  const std::string reason = own.reason().empty() ? "" : ": " + one_line(own.reason());
  log("WARNING", place_of(game) + ": the seat was forfeited: " + ending + reason);
}

}  // namespace

void Player::welcome(const v1::Welcome& welcome, Send send) {
  const Lock lock(mutex_);
  send_ = std::move(send);
  connection_++;
  v1::GameOver over;
  over.set_void_reason(v1::VOID_REASON_UNKNOWN);
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
  send_ = nullptr;
  gathered_.Clear();
}

void Player::handle(v1::PlayResponse& batch) {
  const Lock lock(mutex_);
  gathered_since_ = Clock::now();
  for (GameStarted& started : *batch.mutable_games_started()) {
    start(std::move(started));
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
  const bool is_finished = finished_.wait_for(lock, closing_time, [this] { return threads_ == 0; });
  if (is_finished) {
    games_.clear();
  }
  return is_finished;
}

/// Begins a game in one seat, unless it is being played.
void Player::start(GameStarted&& started) {
  const GameId id(started.match_id(), started.seat());
  if (!games_.contains(id)) {
    const auto game = games_[id] = std::make_shared<Game>(std::move(started));
    game->asked_on = connection_;
    enqueue(game);
  }
}

/// Has a decision answered: by the bot, or from memory if the server sends it again.
void Player::decide(v1::Decision&& message) {
  const auto found = games_.find({message.match_id(), message.view().seat()});
  if (found == games_.end()) {
    log("WARNING", place(message.match_id(), 0, 0) + ": a decision of an unknown game");
    return;
  }
  Game& game = *found->second;
  if (game.is_done) {  // it has crashed
    if (std::exchange(game.asked_on, connection_) != connection_) {
      gathered_.MergeFrom(*game.reply);
    }
  } else if (message.decision_id() == game.asked) {
    game.asked_on = connection_;
    if (game.reply.has_value()) {
      gathered_.MergeFrom(*game.reply);
    }
  } else if (message.decision_id() > game.asked) {
    game.withdraw();  // the clock has settled the older one
    game.asked = message.decision_id();
    game.round = message.view().round();
    game.asked_on = connection_;
    game.reply.reset();
    game.decision = std::make_shared<Decision>(std::move(message));
    enqueue(found->second);
  }
}

/// Ends a match: in every seat that the bot has there, the game is over or voided.
void Player::end(const v1::GameOver& over) {
  const auto first = games_.lower_bound({over.match_id(), 0});
  const auto last = games_.upper_bound({over.match_id(), UINT32_MAX});
  for (auto next = first; next != last; next++) {
    Game& game = *next->second;
    if (!game.is_done) {
      log_forfeit(game, over.result());
      game.withdraw();
      game.over = over;
      enqueue(next->second);
    }
  }
  games_.erase(first, last);
}

/// Has a thread serve a game, if there is anything to do.
void Player::enqueue(const GamePointer& game) {
  const bool has_work = game->bot == nullptr || game->decision != nullptr || game->over.has_value();
  if (has_work && !game->is_busy && !game->is_done) {
    game->is_busy = true;
    queue_.push_back(game);
    changed_.notify_one();
  }
}

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
  finished_.notify_all();
}

/// Does what is next for a bot.
void Player::serve(Game& game, Lock& lock) {
  if (game.bot == nullptr) {
    make_bot(game, lock);
  } else if (game.decision != nullptr) {
    think(game, lock);
  } else if (game.over.has_value()) {
    tell(game, lock);
  }
  if (game.is_done) {
    call(lock, [&] { game.bot.reset(); });
  }
}

void Player::make_bot(Game& game, Lock& lock) {
  std::unique_ptr<Bot> bot;
  const std::string reason = call(lock, [&] { bot = factory_(game.started); });
  game.bot = std::move(bot);
  if (game.bot == nullptr) {
    crash(game, reason.empty() ? "the factory returned no bot" : reason);
  }
}

void Player::think(Game& game, Lock& lock) {
  const std::shared_ptr<Decision> decision = game.decision;
  const auto moves = static_cast<std::size_t>(decision->moves().size());
  std::size_t position = 0;
  std::string reason = call(lock, [&] { position = game.bot->choose(*decision); });
  if (game.decision != decision) {
    return;  // settled meanwhile
  }
  game.decision = nullptr;
  if (reason.empty() && position >= moves) {
    reason = "the bot chose move " + std::to_string(static_cast<std::ptrdiff_t>(position)) + ", and there are " +
             std::to_string(moves);
  }
  if (reason.empty()) {
    reply(game, answer_of(*decision, position));
  } else if (decision->is_open()) {
    crash(game, reason);
  }
}

/// Tells a bot how its game ended.
void Player::tell(Game& game, Lock& lock) {
  const v1::GameOver& over = *game.over;  // changes no more
  const std::string reason = call(lock, [&] {
    if (over.has_result()) {
      game.bot->game_over({over.match_id(), over.result().seats()});
    } else {
      game.bot->game_voided(over.match_id(), over.void_reason());
    }
  });
  game.is_done = true;
  if (!reason.empty()) {
    log("ERROR", place_of(game) + ": the bot crashed after its game: " + reason);
  }
}

/// Calls the author's code, without the mutex. Returns type and message of its exception; empty if there is none.
std::string Player::call(Lock& lock, const std::function<void()>& code) {
  std::string reason;
  lock.unlock();
  try {
    code();
  } catch (const std::exception& error) {
    reason = one_line(type_of(error) + ": " + error.what());
  } catch (...) {
    reason = "something was thrown that is not a std::exception";
  }
  lock.lock();
  return reason;
}

/// Gives up a game in which the bot crashed; its other games go on.
void Player::crash(Game& game, const std::string& reason) {
  log("ERROR", place_of(game) + ": the bot crashed, the game is given up: " + reason);
  game.is_done = true;
  v1::PlayRequest request;
  v1::Resign& resign = *request.add_resigns();
  resign.set_match_id(game.started.match_id());
  resign.set_seat(game.started.seat());
  resign.set_crashed(true);
  resign.set_reason(reason);
  reply(game, std::move(request));
}

/// Notes a bot's reply, to be sent if the server waits for it on the present connection.
void Player::reply(Game& game, v1::PlayRequest&& reply) {
  game.reply = std::move(reply);
  if (send_ && !game.over.has_value() && game.asked_on == connection_) {
    gathered_.MergeFrom(*game.reply);
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
