#include <optional>
#include <utility>

#include "games.h"

namespace happycity {
namespace {

constexpr auto no_limit = Bot::Clock::time_point::max();

/// Returns when a decision that has just come is late.
Bot::Clock::time_point deadline_of(const Decision& decision) {
  const std::chrono::milliseconds left(decision.clock().time_left_ms());
  return left.count() == 0 ? no_limit : Bot::Clock::now() + left;
}

}  // namespace

/// Puts a decision to a bot. Whatever it still thinks about has been settled by the clock.
void Games::ask(const GamePointer& game, Decision&& decision) {
  drop_thought(*game);
  game->asked = decision.decision_id();
  game->thought = Thought::thinking;
  want(*game);
  const TimePoint deadline = deadline_of(decision);
  submit(game,
         [this, game = game.get(), decision = std::move(decision), deadline] { think(*game, decision, deadline); });
}

/// Makes the bot of a game; a game whose bot could not be made is given up.
void Games::make(Game& game, const GameStarted& start) {
  std::unique_ptr<Bot> bot;
  std::string error;
  try {
    bot = make_bot(factory_, start);
  } catch (...) {
    error = what_was_thrown();
  }
  const std::lock_guard lock(mutex_);
  game.bot = std::move(bot);
  if (game.bot == nullptr && !game.is_over) {
    give_up(game, error);
  }
}

/// Answers a decision; skipped if that is void or late before its turn comes.
void Games::think(Game& game, const Decision& decision, TimePoint deadline) {
  {
    const std::lock_guard lock(mutex_);
    if (!is_awaited(game, decision)) {
      return;
    }
    game.bot->begin(deadline);
  }
  std::optional<v1::Answer> answer;
  std::string error;
  if (deadline == no_limit || Bot::Clock::now() < deadline) {
    try {
      answer = ask_bot(*game.bot, decision);
    } catch (...) {
      error = what_was_thrown();
    }
  }
  const std::lock_guard lock(mutex_);
  if (!is_awaited(game, decision)) {
    return;
  }
  if (answer.has_value()) {
    settle(game, *std::move(answer));
  } else if (deadline != no_limit && Bot::Clock::now() >= deadline) {
    drop_thought(game);
    log_(Level::warning, "no answer in time to decision " + std::to_string(decision.decision_id()) + " of game " +
                             std::to_string(game.id));
    flush_if_done();
  } else {
    give_up(game, error);
  }
}

/// Tells whether a bot's answer to a decision is still of use.
bool Games::is_awaited(const Game& game, const Decision& decision) const {
  return !closed_ && !game.is_over && game.asked == decision.decision_id() && game.thought == Thought::thinking;
}

/// Notes a bot's answer, and sends it if it is waited for.
void Games::settle(Game& game, v1::Answer&& answer) {
  game.thought = Thought::answered;
  game.answer = std::move(answer);
  if (game.is_wanted) {
    game.is_wanted = false;
    waiting_--;
    out_->answer(game.answer);
    flush_if_done();
  }
}

/// Resigns a game in which the bot failed; its other games go on.
void Games::give_up(Game& game, const std::string& error) {
  log_(Level::error, "game " + std::to_string(game.id) + " is resigned, since the bot failed: " + error);
  leave(game);
  const std::string& reason = given_up_[game.id] = readable(error);
  if (out_ != nullptr) {
    out_->resign(game.id, reason);
  }
}

/// Makes void what the bot thinks about.
void Games::drop_thought(Game& game) {
  if (game.thought == Thought::thinking) {
    game.thought = Thought::idle;
    if (game.bot != nullptr) {
      game.bot->void_ = true;
    }
  }
  if (game.is_wanted) {
    game.is_wanted = false;
    waiting_--;
  }
}

/// Notes that the server waits for a bot's answer.
void Games::want(Game& game) {
  if (!game.is_wanted) {
    game.is_wanted = true;
    waiting_++;
  }
}

/// Sends the answers that have gathered, if no other is on its way.
void Games::flush_if_done() {
  if (waiting_ == 0 && out_ != nullptr) {
    out_->flush();
  }
}

/// Has a chore done for a game, after those it has already.
void Games::submit(const GamePointer& game, std::function<void()> chore) {
  game->chores.push_back(std::move(chore));
  if (!game->is_busy) {
    game->is_busy = true;
    pool_.submit([self = shared_from_this(), game] { self->next_chore(game); });
  }
}

/// Does one chore; further ones queue up behind those of other games.
void Games::next_chore(const GamePointer& game) {
  std::function<void()> chore;
  {
    const std::lock_guard lock(mutex_);
    chore = std::move(game->chores.front());
    game->chores.pop_front();
  }
  chore();
  const std::lock_guard lock(mutex_);
  game->is_busy = !game->chores.empty();
  if (game->is_busy) {
    pool_.submit([self = shared_from_this(), game] { self->next_chore(game); });
  }
}

}  // namespace happycity
