#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

#include "bots.h"
#include "peer.h"

namespace happycity {
namespace {

using Answers = std::map<std::int64_t, std::uint32_t>;
using Metrics = std::map<std::string, double>;

// All decisions of a message are answered, if there is time in one message: see Player.InOneMessage.
TEST(Playing, Batch) {
  Peer peer;
  peer.play(factory_of<Counter>());
  const auto stream = peer.welcome();
  stream->start({1, 2, 3});
  for (std::uint32_t round = 0; round < 3; round++) {
    stream->ask({decision(1, round + 1), decision(2, round + 1), decision(3, round + 1)});
    EXPECT_EQ(stream->gather(3), (Answers{{1, round}, {2, round}, {3, round}}));
  }
}

// What a bot notes goes with that answer, of each name the last number; of nothing noted, nothing.
TEST(Playing, Notes) {
  Peer peer;
  peer.play(factory_of<Noter>());
  const auto stream = peer.welcome();
  stream->start({1});
  stream->ask({decision(1, 1)});
  EXPECT_EQ(stream->metrics(), (Metrics{{"depth", 0}, {"nodes of 1", 0.5}}));
  stream->ask({decision(1, 2)});
  EXPECT_EQ(stream->metrics(), Metrics());
  stream->ask({decision(1, 3)});
  EXPECT_EQ(stream->metrics(), (Metrics{{"depth", 2}, {"nodes of 3", 0.5}}));
}

// It is for the server to drop what can't be a metric; it can read the answer all the same.
TEST(Playing, StrangeNotes) {
  struct Babbling : Bot {
    std::size_t choose(const Decision& decision) override {
      decision.note("", std::numeric_limits<double>::infinity());
      decision.note("\xff" + std::string(1000, 'x'), std::numeric_limits<double>::quiet_NaN());
      decision.note(std::string_view("\0", 1), 1);
      return 2;
    }
  };
  Peer peer;
  peer.play(factory_of<Babbling>());
  const auto stream = peer.welcome();
  stream->start({1});
  stream->ask({decision(1, 1)});
  const v1::PlayRequest request = stream->next();
  ASSERT_EQ(request.answers_size(), 1);
  EXPECT_EQ(request.answers(0).move(), 2u);
  EXPECT_EQ(request.answers(0).metrics().size(), 3u);
  EXPECT_TRUE(request.answers(0).metrics().contains("?" + std::string(199, 'x')));
}

// An answer doesn't wait for a game that is thought about for long.
TEST(Playing, SlowGame) {
  Peer peer;
  Questions asked;
  peer.play(Thinker::made_for(asked), {.thinkers = 2});
  const auto stream = peer.welcome();
  stream->start({1, 2});
  stream->ask({decision(1, 1), decision(2, 1)});
  const auto slow = asked.take("question"), fast = asked.take("question");
  fast->answer.put(2);
  EXPECT_EQ(stream->answers(), (Answers{{fast->match_id, 2}}));
  slow->answer.put(1);
  EXPECT_EQ(stream->answers(), (Answers{{slow->match_id, 1}}));
}

// No more decisions are thought about at once than the settings say.
TEST(Playing, Thinkers) {
  Peer peer;
  Questions asked;
  peer.play(Thinker::made_for(asked), {.thinkers = 1});
  const auto stream = peer.welcome();
  stream->start({1, 2});
  stream->ask({decision(1, 1), decision(2, 1)});
  const auto question = asked.take("question");
  stream->pause();
  EXPECT_TRUE(asked.is_empty());
  question->answer.put(0);
  asked.take("question")->answer.put(1);
  Answers answers = stream->answers();
  if (answers.size() == 1) {  // the second took its time
    answers.merge(stream->answers());
  }
  EXPECT_EQ(answers.size(), 2u);
}

// A ping is answered while the bot thinks.
TEST(Playing, Ping) {
  Peer peer;
  Questions asked;
  peer.play(Thinker::made_for(asked), {.thinkers = 1});
  const auto stream = peer.welcome();
  stream->start({1});
  stream->ask({decision(1, 1)});
  const auto question = asked.take("question");
  const auto sent = stream->pause();
  EXPECT_EQ(sent.size(), 1u);
  EXPECT_TRUE(sent[0].answers().empty());
  question->answer.put(1);
  EXPECT_EQ(stream->answers(), (Answers{{1, 1}}));
}

// A bot that crashes gives up that game only, however it does, and says why in one line.
TEST(Playing, Crash) {
  const auto throwing = [](auto error) { return stateless([error](const Decision&) -> std::size_t { throw error; }); };
  const std::vector<std::pair<Factory, std::string>> crashes = {
      {throwing(std::runtime_error("lost my\n\x1bnotes")), "std::runtime_error: lost my notes"},
      {throwing(7), "int"},
      {stateless([](const Decision&) { return 3; }), "std::out_of_range: the bot chose move 3, and there are 3"},
      {stateless([](const Decision&) { return -1; }), "std::out_of_range: the bot chose move -1, and there are 3"},
      {[](const GameStarted&) { return nullptr; }, "the factory returned no bot"},
      {[](const GameStarted&) -> std::unique_ptr<Bot> { throw std::runtime_error("no bot"); },
       "std::runtime_error: no bot"},
  };
  for (const auto& [crashing, reason] : crashes) {
    Peer peer;
    peer.play([&, good = stateless(first)](const GameStarted& started) {
      return started.match_id() == 1 ? crashing(started) : good(started);
    });
    const auto stream = peer.welcome();
    stream->start({1, 2});
    stream->ask({decision(1, 1)});
    const v1::PlayRequest request = stream->next();
    ASSERT_EQ(request.resigns_size(), 1);
    EXPECT_EQ(request.resigns(0).match_id(), 1);
    EXPECT_TRUE(request.resigns(0).has_seat());
    EXPECT_TRUE(request.resigns(0).crashed());
    EXPECT_EQ(request.resigns(0).reason(), reason);
    stream->ask({decision(1, 3), decision(2, 1)});
    EXPECT_EQ(stream->answers(), (Answers{{2, 0}}));
  }
}

// A bot learns how its games ended.
TEST(Playing, GameOver) {
  Peer peer;
  Ends ends;
  peer.play(Listener::made_for(ends), {.thinkers = 1});
  const auto stream = peer.welcome();
  stream->start({1, 2, 3, 4});
  v1::PlayResponse batch;
  for (int id = 1; id <= 4; id++) {
    batch.add_games_over()->set_match_id(id);
  }
  batch.mutable_games_over(0)->mutable_result()->add_seats()->set_place(2);
  batch.mutable_games_over(1)->set_void_reason(v1::VOID_REASON_STOPPED);
  batch.mutable_games_over(2)->set_void_reason(static_cast<VoidReason>(99));  // of a newer server
  stream->send(batch);
  const auto over = ends.overs.take("game_over");
  EXPECT_EQ(over.match_id, 1);
  EXPECT_EQ(over.seats.at(0).place(), 2u);
  EXPECT_EQ(ends.voids.take("game_voided"), std::pair(std::int64_t{2}, v1::VOID_REASON_STOPPED));
  EXPECT_EQ(ends.voids.take("game_voided"), std::pair(std::int64_t{3}, v1::VOID_REASON_UNKNOWN));
  EXPECT_EQ(ends.voids.take("game_voided"), std::pair(std::int64_t{4}, v1::VOID_REASON_UNKNOWN));
}

// A bot that crashes at the end of its game crashes alone.
TEST(Playing, CrashAtTheEnd) {
  struct Sulking : Bot {
    std::size_t choose(const Decision&) override { return 0; }
    void game_voided(std::int64_t, VoidReason) override { throw std::runtime_error("unfair"); }
  };
  Peer peer;
  peer.play(factory_of<Sulking>());
  const auto stream = peer.welcome();
  stream->start({1, 2});
  v1::PlayResponse batch;
  batch.add_games_over()->set_match_id(1);
  stream->send(batch);
  stream->ask({decision(2, 1)});
  EXPECT_EQ(stream->answers(), (Answers{{2, 0}}));
}

// After the end of a game nothing is answered for it, and a bot that thinks about it can see that.
TEST(Playing, GameOverWhileThinking) {
  Peer peer;
  Questions asked;
  peer.play(Thinker::made_for(asked));
  const auto stream = peer.welcome();
  stream->start({1});
  stream->ask({decision(1, 1)});
  const auto question = asked.take("question");
  v1::PlayResponse batch;
  batch.add_games_over()->set_match_id(1);
  stream->send(batch);
  wait_until([&] { return !question->decision.is_open(); }, "end of the decision");
  question->answer.put(1);
  const auto sent = stream->pause();
  EXPECT_EQ(sent.size(), 1u);
  EXPECT_TRUE(sent[0].answers().empty());
}

// A decision that the clock has settled is void when the next one comes; that one has to wait for its bot.
TEST(Playing, SettledByTheClock) {
  Peer peer;
  Questions asked;
  peer.play(Thinker::made_for(asked));
  const auto stream = peer.welcome();
  stream->start({1});
  stream->ask({decision(1, 1)});
  const auto late = asked.take("question");
  stream->ask({decision(1, 4)});
  wait_until([&] { return !late->decision.is_open(); }, "end of the decision");
  EXPECT_TRUE(asked.is_empty());
  late->answer.put(1);
  const auto question = asked.take("question");
  EXPECT_TRUE(question->decision.is_open());
  question->answer.put(2);
  const v1::PlayRequest request = stream->next();
  ASSERT_EQ(request.answers_size(), 1);
  EXPECT_EQ(request.answers(0).decision_id(), 4u);
  EXPECT_EQ(request.answers(0).move(), 2u);
}

// An exception after the time is up is no crash: the clock decides, and the game goes on.
TEST(Playing, OutOfTime) {
  static Mailbox<bool> gave_up;
  struct Slow : Bot {
    std::size_t choose(const Decision& decision) override {
      if (!decision.time_left().has_value()) {
        return 1;
      }
      wait_until([&] { return !decision.is_open(); }, "end of the time");
      EXPECT_EQ(decision.time_left(), Decision::Clock::duration::zero());
      gave_up.put(true);
      throw std::runtime_error("out of time");
    }
  };
  Peer peer;
  peer.play(factory_of<Slow>(), {.thinkers = 1});
  const auto stream = peer.welcome();
  stream->start({1, 2});
  std::uint32_t number = 1;
  for (std::uint32_t limit = 1; gave_up.is_empty(); limit *= 2) {  // longer, if time was up before the bot's turn came
    v1::Decision hurried = decision(1, number);
    hurried.mutable_clock()->set_time_left_us(1000 * limit);
    stream->ask({hurried, decision(2, number)});
    // The only thinker takes the second game when it is done with the first.
    ASSERT_EQ(stream->answers(), (Answers{{2, 1}}));
    number++;
  }
  stream->ask({decision(1, number)});
  EXPECT_EQ(stream->answers(), (Answers{{1, 1}}));
}

}  // namespace
}  // namespace happycity
