#include "player.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace happycity {
namespace {

constexpr int many = 50;

/// Plays without a server: the test makes the batches, and reads the answers.
class Arena {
 public:
  explicit Arena(Factory factory) : player_(std::make_shared<Player>(std::move(factory))) { player_->start(4); }
  ~Arena() { EXPECT_TRUE(player_->close()); }

  /// Makes a connection, on which the server knows the matches 1 to `matches`.
  void connect(int matches) {
    v1::Welcome welcome;
    for (int id = 1; id <= matches; id++) {
      welcome.add_match_ids(id);
    }
    player_->welcome(welcome, [this](const v1::PlayRequest& request) {
      const std::lock_guard lock(mutex_);
      answers_.insert(answers_.end(), request.answers().begin(), request.answers().end());
      changed_.notify_one();
    });
  }

  void disconnect() { player_->disconnect(); }

  /// Starts the matches 1 to `matches`, and asks for a decision in each.
  void ask(int matches, std::uint32_t decision_id) {
    v1::PlayResponse batch;
    for (int id = 1; id <= matches; id++) {
      batch.add_games_started()->set_match_id(id);
      v1::Decision& decision = *batch.add_decisions();
      decision.set_match_id(id);
      decision.set_decision_id(decision_id);
      for (int i = 0; i < 3; i++) {
        decision.add_moves();
      }
    }
    player_->handle(batch);
  }

  /// Waits for as many answers as there have to be, and returns them.
  std::vector<v1::Answer> answers(std::size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::minutes(1), [&] { return answers_.size() >= count; }));
    EXPECT_EQ(answers_.size(), count);
    return std::exchange(answers_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<v1::Answer> answers_;
  const std::shared_ptr<Player> player_;
};

/// Answers with how often it was asked before, 0 to 2.
class Counter : public Bot {
 public:
  std::size_t choose(const Decision& decision) override {
    decision.note("asked", static_cast<double>(asked_));
    return asked_++ % 3;
  }

 private:
  std::size_t asked_ = 0;
};

// Many games on several threads put each decision to their bots once, also if the server asks again after a lost
// connection.
TEST(Player, AsksOnce) {
  Arena arena(factory_of<Counter>());
  arena.connect(0);
  for (std::uint32_t number = 1; number <= 3; number++) {
    arena.ask(many, number);
    arena.answers(many);
    arena.disconnect();
    arena.connect(many);
    arena.ask(many, number);
    for (const v1::Answer& answer : arena.answers(many)) {
      EXPECT_EQ(answer.decision_id(), number);
      EXPECT_EQ(answer.move(), number - 1);
      EXPECT_EQ(answer.metrics().at("asked"), number - 1);
    }
  }
}

// An answer that comes while there is no connection is sent if the server asks again.
TEST(Player, QueuesNothing) {
  std::atomic<bool> may_answer = false;
  Arena arena(stateless([&](const Decision&) {
    may_answer.wait(false);
    return 1;
  }));
  arena.connect(0);
  arena.ask(1, 1);
  arena.disconnect();
  arena.connect(1);
  may_answer = true;
  may_answer.notify_one();
  arena.ask(1, 1);
  EXPECT_EQ(arena.answers(1)[0].move(), 1u);
}

}  // namespace
}  // namespace happycity
