#include "player.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <optional>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "crash.h"
#include "text.h"

namespace happycity {
namespace {

/// Has a bot choose, and checks that there is such a move.
v1::Answer choose(Bot& bot, const Decision& decision) {
  const std::size_t position = bot.choose(decision);
  const auto moves = static_cast<std::size_t>(decision.moves().size());
  if (position >= moves) {
    throw std::out_of_range("the bot chose move " + std::to_string(static_cast<std::ptrdiff_t>(position)) +
                            ", and there are " + std::to_string(moves));
  }
  v1::Answer answer;
  answer.set_match_id(decision.match_id());
  answer.set_decision_id(decision.decision_id());
  answer.set_move(static_cast<std::uint32_t>(position));
  const auto notes = decision.notes();
  answer.mutable_metrics()->insert(notes.begin(), notes.end());
  return answer;
}

/// Returns why a match was voided; a newer server's reason is unknown.
VoidReason void_reason_of(const v1::GameOver& over) {
  const VoidReason reason = over.void_reason();
  return v1::VoidReason_IsValid(reason) && reason != v1::VOID_REASON_UNSPECIFIED ? reason : v1::VOID_REASON_UNKNOWN;
}

/// Returns where the game of a seat is, as far as the bot knows.
std::string place_of(const Seat& seat) {
  return place(seat.id.first, seat.round, seat.asked);
}

}  // namespace

Player::Player(Factory factory, Log log, std::shared_ptr<Pool> pool)
    : factory_(std::move(factory)), log_(std::move(log)), crashes_(log_), pool_(std::move(pool)) {}

std::vector<std::int64_t> Player::match_ids() const {
  const std::lock_guard lock(mutex_);
  std::set<std::int64_t> ids;
  for (const auto& [id, seat] : seats_) {
    ids.insert(id.first);
  }
  for (const auto& [id, resign] : resigned_) {
    ids.insert(id.first);
  }
  return {ids.begin(), ids.end()};
}

void Player::welcome(Outbox& out, bool resumed) {
  const std::lock_guard lock(mutex_);
  out_ = &out;
  if (resumed) {
    for (const auto& [id, resign] : resigned_) {
      out.resign(resign);
    }
    return;
  }
  resigned_.clear();
  while (!seats_.empty()) {
    void_game(SeatPointer(seats_.begin()->second));
  }
}

void Player::disconnect() {
  const std::lock_guard lock(mutex_);
  out_ = nullptr;
  due_ = 0;
  for (const auto& [id, seat] : seats_) {
    seat->is_due = false;
  }
}

// No bot's choice comes in between, so that the answers to half of a batch are not sent on their own.
void Player::handle(v1::PlayResponse& batch) {
  const std::lock_guard lock(mutex_);
  if (is_closed_) {
    return;
  }
  for (GameStarted& started : *batch.mutable_games_started()) {
    start(std::move(started));
  }
  for (v1::Decision& message : *batch.mutable_decisions()) {
    decide(std::move(message));
  }
  for (const v1::GameOver& over : batch.games_over()) {
    end(over);
  }
  flush_if_complete();
}

void Player::close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  crashes_.close();
  for (const auto& [id, seat] : seats_) {
    stop_thinking(*seat);
  }
}

/// Begins a game in one seat, or starts it over if it runs already.
void Player::start(GameStarted&& started) {
  const SeatId id(started.match_id(), started.seat());
  if (const auto older = seats_.find(id); older != seats_.end()) {
    void_game(SeatPointer(older->second));
  }
  resigned_.erase(id);
  const auto seat = std::make_shared<Seat>(id);
  seats_.emplace(id, seat);
  submit(seat, [this, seat = seat.get(), started = std::move(started)] { make_bot(*seat, started); });
}

/// Makes the bot of a game, which is given up if that fails.
void Player::make_bot(Seat& seat, const GameStarted& started) {
  std::unique_ptr<Bot> bot;
  std::string reason = "the factory returned no bot";
  try {
    bot = factory_(started);
  } catch (...) {
    reason = crash_reason();
  }
  const std::lock_guard lock(mutex_);
  seat.bot = std::move(bot);
  if (seat.bot == nullptr && !seat.is_over) {
    crash(seat, reason);
  }
}

/// Has a decision answered: by the bot, or from memory if the server sends it again.
void Player::decide(v1::Decision&& message) {
  const SeatId id(message.match_id(), message.view().seat());
  const auto found = seats_.find(id);
  if (found == seats_.end()) {
    if (!resigned_.contains(id)) {
      log_(Level::warning, place(id.first) + ": a decision of an unknown game");
    }
    return;
  }
  Seat& seat = *found->second;
  const bool again = message.decision_id() == seat.asked;
  if (message.decision_id() < seat.asked) {
    return;  // settled long ago
  }
  if (again && seat.answer.has_value()) {
    out_->answer(*seat.answer);
  } else if (again && seat.decision != nullptr) {
    expect_answer(seat);
  } else {
    ask(found->second, std::move(message));
  }
}

/// Puts a decision to a bot. The clock has settled whatever it still thinks about.
void Player::ask(const SeatPointer& seat, v1::Decision&& message) {
  stop_thinking(*seat);
  seat->asked = message.decision_id();
  seat->round = message.view().round();
  seat->decision = std::make_shared<Decision>(std::move(message));
  seat->answer.reset();
  expect_answer(*seat);
  submit(seat, [this, seat = seat.get(), decision = seat->decision] { think(*seat, *decision); });
}

/// Answers a decision, unless it is of no use any more or late before its turn comes.
void Player::think(Seat& seat, const Decision& decision) {
  {
    const std::lock_guard lock(mutex_);
    if (!is_of_use(seat, decision)) {
      return;
    }
  }
  std::optional<v1::Answer> answer;
  std::string reason;
  if (decision.is_open()) {
    try {
      answer = choose(*seat.bot, decision);
    } catch (...) {
      reason = crash_reason();
    }
  }
  const std::lock_guard lock(mutex_);
  if (!is_of_use(seat, decision)) {
    return;
  }
  if (answer.has_value()) {
    settle(seat, *std::move(answer));
  } else if (decision.is_late()) {
    run_out(seat);
  } else {
    crash(seat, reason);
  }
}

/// Returns whether a decision still waits for its bot.
bool Player::is_of_use(const Seat& seat, const Decision& decision) const {
  return !is_closed_ && seat.decision.get() == &decision;
}

/// Notes a bot's answer, and sends it if the server waits for it.
void Player::settle(Seat& seat, v1::Answer&& answer) {
  seat.decision = nullptr;
  seat.answer = std::move(answer);
  if (seat.is_due) {
    expect_nothing(seat);
    out_->answer(*seat.answer);
    flush_if_complete();
  }
}

/// Notes that a bot has no answer in time: the clock decides, and the game goes on.
void Player::run_out(Seat& seat) {
  log_(Level::warning, place_of(seat) + ": the bot had no answer in time");
  stop_thinking(seat);
  flush_if_complete();
}

/// Gives up a game in which the bot crashed; its other games go on.
void Player::crash(Seat& seat, const std::string& reason) {
  crashes_.add("the bot crashed, the game is given up", seat.id.first, place_of(seat), reason);
  leave(seat);
  v1::Resign& resign = resigned_[seat.id];
  resign.set_match_id(seat.id.first);
  resign.set_seat(seat.id.second);
  resign.set_crashed(true);
  resign.set_reason(reason);
  if (out_ != nullptr) {
    out_->resign(resign);
  }
}

/// Ends a match: in every seat that the bot has there, the game is over or voided.
void Player::end(const v1::GameOver& over) {
  const std::int64_t match_id = over.match_id();
  out_->forget(match_id);
  std::erase_if(resigned_, [&](const auto& each) { return each.first.first == match_id; });
  for (auto next = seats_.lower_bound({match_id, 0}); next != seats_.end() && next->first.first == match_id;) {
    log_forfeit(*next->second, over.result());
    end_seat(SeatPointer((next++)->second), over);
  }
}

/// Logs that the server gave a seat up, if it did.
void Player::log_forfeit(const Seat& seat, const v1::MatchResult& result) const {
  const auto number = static_cast<std::size_t>(seat.id.second);
  if (number >= static_cast<std::size_t>(result.seats_size())) {
    return;
  }
  const v1::SeatResult& own = result.seats(static_cast<int>(number));
  if (own.ending() <= v1::ENDING_FINISHED) {
    return;
  }
  std::string ending = v1::Ending_Name(own.ending());  // empty if only a newer server knows it
  ending = ending.empty() ? "other" : ending.substr(std::string_view("ENDING_").size());
  std::transform(ending.begin(), ending.end(), ending.begin(), [](unsigned char c) { return std::tolower(c); });
  const std::string reason = own.reason().empty() ? "" : ": " + one_line(own.reason());
  log_(Level::warning, place_of(seat) + ": the seat was forfeited: " + ending + reason);
}

/// Ends a game that the server doesn't know any more, or starts over.
void Player::void_game(const SeatPointer& seat) {
  v1::GameOver over;
  over.set_match_id(seat->id.first);
  over.set_void_reason(v1::VOID_REASON_UNKNOWN);
  end_seat(seat, over);
}

void Player::end_seat(const SeatPointer& seat, const v1::GameOver& over) {
  leave(*seat);
  submit(seat, [this, seat = seat.get(), over] { let_end(*seat, over); });
}

/// Lets a bot take note of how its game ended.
void Player::let_end(Seat& seat, const v1::GameOver& over) {
  if (seat.bot == nullptr) {
    return;
  }
  try {
    if (over.has_result()) {
      seat.bot->game_over({over.match_id(), over.result().seats()});
    } else {
      seat.bot->game_voided(over.match_id(), void_reason_of(over));
    }
  } catch (...) {
    const std::string reason = crash_reason();
    const std::lock_guard lock(mutex_);
    crashes_.add("the bot crashed after its game", seat.id.first, place_of(seat), reason);
  }
}

void Player::leave(Seat& seat) {
  stop_thinking(seat);
  seat.is_over = true;
  seats_.erase(seat.id);
}

/// Makes void what a bot thinks about.
void Player::stop_thinking(Seat& seat) {
  if (seat.decision != nullptr) {
    seat.decision->close();
    seat.decision = nullptr;
  }
  expect_nothing(seat);
}

void Player::expect_answer(Seat& seat) {
  due_ += seat.is_due ? 0 : 1;
  seat.is_due = true;
}

void Player::expect_nothing(Seat& seat) {
  due_ -= seat.is_due ? 1 : 0;
  seat.is_due = false;
}

/// Sends the answers that have gathered, if the server waits for no other.
void Player::flush_if_complete() {
  if (due_ == 0 && out_ != nullptr) {
    out_->flush();
  }
}

/// Has a task done for a bot, after those it has already.
void Player::submit(const SeatPointer& seat, std::function<void()> task) {
  seat->tasks.push_back(std::move(task));
  if (!seat->is_busy) {
    seat->is_busy = true;
    pool_->submit([self = shared_from_this(), seat] { self->do_next_task(seat); });
  }
}

/// Does one task; further ones queue up behind those of other bots.
void Player::do_next_task(const SeatPointer& seat) {
  std::function<void()> task;
  {
    const std::lock_guard lock(mutex_);
    task = std::move(seat->tasks.front());
    seat->tasks.pop_front();
  }
  task();
  const std::lock_guard lock(mutex_);
  seat->is_busy = !seat->tasks.empty();
  if (seat->is_busy) {
    pool_->submit([self = shared_from_this(), seat] { self->do_next_task(seat); });
  }
}

}  // namespace happycity
