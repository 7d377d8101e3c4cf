#include "player.h"

#include <gtest/gtest.h>

#include <thread>

#include "bots.h"

namespace happycity {
namespace {

constexpr std::int64_t many = 50;

/// A connection in memory: what is due is sent at once.
class Wire {
 public:
  Outbox out{[this] {
    v1::PlayRequest request;
    if (out.take(request)) {
      sent_.put(std::move(request));
    }
  }};

  v1::PlayRequest next() { return sent_.take("answer"); }

  /// Waits for an answer from each game, and returns how many of them named that move.
  std::int64_t answers_with(std::uint32_t move) {
    std::int64_t equal = 0;
    for (std::int64_t count = 0; count < many;) {
      const v1::PlayRequest request = next();
      for (const v1::Answer& answer : request.answers()) {
        count++;
        equal += answer.move() == move ? 1 : 0;
      }
    }
    return equal;
  }

  bool is_silent() const { return sent_.is_empty(); }

 private:
  Mailbox<v1::PlayRequest> sent_;
};

v1::PlayResponse started() {
  v1::PlayResponse batch;
  for (std::int64_t id = 1; id <= many; id++) {
    batch.add_games_started()->set_match_id(id);
  }
  return batch;
}

/// Returns a decision of each game.
v1::PlayResponse asked(std::uint32_t decision_id) {
  v1::PlayResponse batch;
  for (std::int64_t id = 1; id <= many; id++) {
    v1::Decision& decision = *batch.add_decisions();
    decision.set_match_id(id);
    decision.set_decision_id(decision_id);
    for (int i = 0; i < 3; i++) {
      decision.add_moves()->set_kind(v1::MOVE_KIND_KEEP);
    }
  }
  return batch;
}

void ignore(Level, std::string_view) {}

// Many games on several threads answer each decision once for each time that it is asked, alike each time, also
// where the connection is lost in between.
TEST(Player, ManyAtOnce) {
  const auto player = std::make_shared<Player>(factory_of<Counter>(), ignore, std::make_shared<Pool>(4));
  auto wire = std::make_unique<Wire>();
  player->welcome(wire->out, false);
  v1::PlayResponse batch = started();
  player->handle(batch);
  for (std::uint32_t round = 0; round < 100; round++) {
    batch = asked(round + 1);
    player->handle(batch);
    if (round % 2 == 0) {
      EXPECT_EQ(wire->answers_with(round % 3), many);
    }
    player->disconnect();  // in odd rounds, while bots think
    wire = std::make_unique<Wire>();
    player->welcome(wire->out, true);
    batch = asked(round + 1);
    player->handle(batch);
    EXPECT_EQ(wire->answers_with(round % 3), many);
    EXPECT_TRUE(wire->is_silent());
  }
  player->disconnect();
}

// All decisions of a message are answered in one message.
TEST(Player, InOneMessage) {
  const auto player = std::make_shared<Player>(factory_of<Counter>(), ignore, std::make_shared<Pool>(4));
  Outbox out([] {}, std::chrono::hours(1));  // so that nothing is due because it was held long enough
  player->welcome(out, false);
  v1::PlayResponse batch = started();
  player->handle(batch);
  for (std::uint32_t round = 0; round < 3; round++) {
    batch = asked(round + 1);
    player->handle(batch);
    wait_until([&] { return out.due() == Outbox::at_once; }, "message");
    v1::PlayRequest request;
    ASSERT_TRUE(out.take(request));
    EXPECT_EQ(request.answers_size(), static_cast<int>(many));
  }
  player->disconnect();
}

// Bots that think when everything is closed can see that, and their answers are not sent.
TEST(Player, EndWhileThinking) {
  struct Dreamer : Bot {
    std::size_t choose(const Decision& decision) override {
      wait_until([&] { return !decision.is_open(); }, "end of the decision");
      return 0;
    }
  };
  const auto pool = std::make_shared<Pool>(4);
  const auto player = std::make_shared<Player>(factory_of<Dreamer>(), ignore, pool);
  Wire wire;
  player->welcome(wire.out, false);
  v1::PlayResponse batch = started();
  player->handle(batch);
  batch = asked(1);
  player->handle(batch);
  player->close();
  EXPECT_TRUE(pool->wait(patience));
  EXPECT_TRUE(wire.is_silent());
  player->disconnect();
}

// Threads of a bot's own may note, too.
TEST(Player, NotesOfManyThreads) {
  struct Crowd : Bot {
    std::size_t choose(const Decision& decision) override {
      const auto count = [&](int from) {
        for (int i = from; i < 20'000; i += 2) {
          decision.note(std::to_string(i), i);
        }
      };
      std::jthread other(count, 1);
      count(0);
      return 0;
    }
  };
  const auto player = std::make_shared<Player>(factory_of<Crowd>(), ignore, std::make_shared<Pool>(1));
  Wire wire;
  player->welcome(wire.out, false);
  v1::PlayResponse batch;
  batch.add_games_started()->set_match_id(1);
  v1::Decision& decision = *batch.add_decisions();
  decision.set_match_id(1);
  decision.set_decision_id(1);
  decision.add_moves();
  player->handle(batch);
  EXPECT_EQ(wire.next().answers(0).metrics().size(), 20'000u);
  player->disconnect();
}

// An answer that waits for others when its game ends is not sent.
TEST(Player, OverBeforeTheAnswerIsSent) {
  Questions questions;
  const auto player = std::make_shared<Player>(Thinker::made_for(questions), ignore, std::make_shared<Pool>(2));
  v1::PlayRequest request;
  Outbox out([] {});
  player->welcome(out, false);
  v1::PlayResponse batch;
  for (std::int64_t id = 1; id <= 2; id++) {
    batch.add_games_started()->set_match_id(id);
    v1::Decision& decision = *batch.add_decisions();
    decision.set_match_id(id);
    decision.set_decision_id(1);
    decision.add_moves();
  }
  player->handle(batch);
  const auto quick = questions.take("question"), slow = questions.take("question");
  quick->answer.put(0);
  wait_until([&] { return out.due() != Outbox::never; }, "answer");
  v1::PlayResponse over;
  over.add_games_over()->set_match_id(quick->match_id);
  player->handle(over);
  slow->answer.put(0);
  wait_until([&] { return out.due() == Outbox::at_once; }, "message");
  ASSERT_TRUE(out.take(request));
  ASSERT_EQ(request.answers_size(), 1);
  EXPECT_EQ(request.answers(0).match_id(), slow->match_id);
  player->disconnect();
}

}  // namespace
}  // namespace happycity
