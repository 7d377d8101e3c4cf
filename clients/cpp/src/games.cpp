#include "games.h"

#include <utility>

namespace happycity {

Games::Games(Factory factory, Log log, unsigned thinkers)
    : factory_(std::move(factory)), log_(std::move(log)), pool_(thinkers) {}

std::vector<std::uint64_t> Games::known() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint64_t> ids;
  for (const auto& [id, game] : running_) {
    ids.push_back(id);
  }
  for (const auto& [id, reason] : given_up_) {
    ids.push_back(id);
  }
  return ids;
}

void Games::attach(Outbox& out, bool resumed) {
  const std::lock_guard lock(mutex_);
  out_ = &out;
  if (resumed) {
    for (const auto& [id, reason] : given_up_) {
      out.resign(id, reason);
    }
    return;
  }
  given_up_.clear();
  while (!running_.empty()) {
    void_game(GamePointer(running_.begin()->second));
  }
}

void Games::detach() {
  const std::lock_guard lock(mutex_);
  out_ = nullptr;
  waiting_ = 0;
  for (const auto& [id, game] : running_) {
    game->is_wanted = false;
  }
}

// No answer gets between the decisions of a batch, so that the bots can't be done with half of it and have that
// sent on its own.
void Games::handle(v1::PlayResponse& batch) {
  const std::lock_guard lock(mutex_);
  if (closed_) {
    return;
  }
  for (GameStarted& start : *batch.mutable_games_started()) {
    begin(std::move(start));
  }
  for (Decision& decision : *batch.mutable_decisions()) {
    decide(std::move(decision));
  }
  for (GameOver& over : *batch.mutable_games_over()) {
    end(std::move(over));
  }
  flush_if_done();
}

void Games::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  for (const auto& [id, game] : running_) {
    drop_thought(*game);
  }
}

bool Games::wait(std::chrono::milliseconds at_most) {
  return pool_.wait(at_most);
}

/// Begins a game, anew if it runs already.
void Games::begin(GameStarted&& start) {
  const std::uint64_t id = start.game_id();
  if (const auto older = running_.find(id); older != running_.end()) {
    void_game(GamePointer(older->second));
  }
  given_up_.erase(id);
  const auto game = std::make_shared<Game>(id);
  running_.emplace(id, game);
  submit(game, [this, game = game.get(), start = std::move(start)] { make(*game, start); });
}

/// Has a decision answered: by the bot, or from memory if the server sends it again.
void Games::decide(Decision&& decision) {
  const auto found = running_.find(decision.game_id());
  if (found == running_.end()) {
    if (!given_up_.contains(decision.game_id())) {
      log_(Level::warning, "a decision of game " + std::to_string(decision.game_id()) + ", which doesn't run");
    }
    return;
  }
  Game& game = *found->second;
  const bool again = decision.decision_id() == game.asked;
  if (decision.decision_id() < game.asked) {
    return;  // settled long ago
  }
  if (again && game.thought == Thought::answered) {
    out_->answer(game.answer);
  } else if (again && game.thought == Thought::thinking) {
    want(game);
  } else {
    ask(found->second, std::move(decision));
  }
}

/// Notes that a game is over, and tells its bot.
void Games::end(GameOver&& over) {
  const std::uint64_t id = over.game_id();
  out_->forget(id);
  given_up_.erase(id);
  if (const auto found = running_.find(id); found != running_.end()) {
    part(GamePointer(found->second), std::move(over));
  }
}

/// Ends a game that the server doesn't know any more, or begins anew.
void Games::void_game(const GamePointer& game) {
  GameOver over;
  over.set_game_id(game->id);
  over.set_void_reason(v1::VOID_REASON_UNKNOWN);
  part(game, std::move(over));
}

/// Takes a game from those that run, and tells its bot how it ended.
void Games::part(const GamePointer& game, GameOver&& over) {
  leave(*game);
  submit(game, [this, game = game.get(), over = std::move(over)] {
    if (game->bot == nullptr) {
      return;
    }
    try {
      tell_bot(*game->bot, over);
    } catch (...) {
      log_(Level::error, "the bot failed at the end of game " + std::to_string(game->id) + ": " + what_was_thrown());
    }
  });
}

void Games::leave(Game& game) {
  drop_thought(game);
  game.is_over = true;
  running_.erase(game.id);
}

}  // namespace happycity
