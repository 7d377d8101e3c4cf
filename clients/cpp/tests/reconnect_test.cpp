#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "bots.h"
#include "peer.h"

namespace happycity {
namespace {

using Answers = std::map<std::int64_t, std::uint32_t>;
using Ids = std::vector<std::int64_t>;
using Clock = std::chrono::steady_clock;

Ids matches_of(const v1::Hello& hello) {
  return {hello.match_ids().begin(), hello.match_ids().end()};
}

// A bot whose connection is lost while it thinks comes back, and answers when it is asked again.
TEST(Reconnect, MidDecision) {
  Peer peer;
  Questions asked;
  peer.play(Thinker::made_for(asked));
  auto stream = peer.welcome(new_welcome("one"));
  stream->start({1, 2});
  stream->ask({decision(1, 1)});
  const auto question = asked.take("question");
  stream->cut();
  stream = peer.welcome(new_welcome("two", true));
  EXPECT_EQ(stream->hello.resume_token(), "one");
  EXPECT_EQ(matches_of(stream->hello), (Ids{1, 2}));
  stream->ask({decision(1, 1)});
  stream->pause();
  EXPECT_TRUE(question->decision.is_open());
  question->answer.put(2);
  EXPECT_EQ(stream->answers(), (Answers{{1, 2}}));
  EXPECT_TRUE(asked.is_empty());
  stream->cut();
  EXPECT_EQ(peer.accept()->hello.resume_token(), "two");
}

// An answer that comes while there is no connection is sent only when it is asked for again.
TEST(Reconnect, AnswerWithoutConnection) {
  Peer peer;
  Questions asked;
  peer.play(Thinker::made_for(asked));
  auto stream = peer.welcome(new_welcome("one"));
  stream->start({1});
  stream->ask({decision(1, 1)});
  const auto question = asked.take("question");
  stream->cut();
  stream = peer.accept();
  question->answer.put(1);
  v1::PlayResponse batch;
  *batch.mutable_welcome() = new_welcome("one", true);
  stream->send(batch);
  const auto sent = stream->pause();
  EXPECT_EQ(sent.size(), 1u);
  EXPECT_TRUE(sent[0].answers().empty());
  stream->ask({decision(1, 1)});
  EXPECT_EQ(stream->answers(), (Answers{{1, 1}}));
}

// A decision that is sent again is answered from memory, on the same connection or another.
TEST(Reconnect, ResentDecision) {
  Peer peer;
  peer.play(factory_of<Counter>());
  auto stream = peer.welcome(new_welcome("one"));
  stream->start({1, 2});
  for (std::uint32_t round = 0; round < 3; round++) {
    const std::vector<v1::Decision> again = {decision(1, round + 1), decision(2, round + 1)};
    const Answers expected = {{1, round}, {2, round}};
    for (int time = 0; time < 3; time++) {
      stream->ask(again);
      EXPECT_EQ(stream->gather(2), expected);
    }
    stream->cut();
    stream = peer.welcome(new_welcome("one", true));
    stream->ask(again);
    EXPECT_EQ(stream->gather(2), expected);
  }
}

// The notes are sent again too: the bot is not asked again.
TEST(Reconnect, ResentNotes) {
  Peer peer;
  peer.play(factory_of<Noter>());
  auto stream = peer.welcome(new_welcome("one"));
  stream->start({1});
  for (int connection = 0; connection < 3; connection++) {
    for (int time = 0; time < 2; time++) {
      stream->ask({decision(1, 1)});
      EXPECT_EQ(stream->metrics(), (std::map<std::string, double>{{"depth", 0}, {"nodes of 1", 0.5}}));
    }
    stream->cut();
    stream = peer.welcome(new_welcome("one", true));
  }
}

// A welcome that resumes nothing makes the bot forget its games; they may start over, with a new bot.
TEST(Reconnect, ForgottenGames) {
  Peer peer;
  Ends ends;
  Mailbox<std::int64_t> made;
  peer.play([&, make = Listener::made_for(ends)](const GameStarted& started) {
    made.put(started.match_id());
    return make(started);
  });
  auto stream = peer.welcome(new_welcome("one"));
  stream->start({1});
  made.take("bot");
  stream->cut();
  stream = peer.welcome(new_welcome("two"));
  EXPECT_EQ(ends.voids.take("game_voided"), std::pair(std::int64_t{1}, v1::VOID_REASON_UNKNOWN));
  stream->start({1});
  made.take("bot");
  stream->ask({decision(1, 1)});
  EXPECT_EQ(stream->answers(), (Answers{{1, 0}}));
  stream->cut();
  stream = peer.accept();
  EXPECT_EQ(matches_of(stream->hello), Ids{1});
  EXPECT_EQ(stream->hello.resume_token(), "two");
}

// A game that was over before the bot came back is over for it too.
TEST(Reconnect, GameOverMeanwhile) {
  Peer peer;
  Ends ends;
  peer.play(Listener::made_for(ends));
  auto stream = peer.welcome(new_welcome("one"));
  stream->start({1, 2});
  stream->pause();
  stream->cut();
  stream = peer.welcome(new_welcome("one", true));
  v1::PlayResponse batch;
  v1::GameOver& over = *batch.add_games_over();
  over.set_match_id(1);
  over.mutable_result();
  stream->send(batch);
  ends.overs.take("game_over");
  stream->cut();
  EXPECT_EQ(matches_of(peer.accept()->hello), Ids{2});
}

// A resignation that may have been lost is sent again, until the game is forgotten.
TEST(Reconnect, ResignsAgain) {
  Peer peer;
  peer.play(stateless([](const Decision&) -> std::size_t { throw std::runtime_error("lost my notes"); }));
  auto stream = peer.welcome(new_welcome("one"));
  stream->start({1});
  stream->ask({decision(1, 1)});
  for (int time = 0; time < 2; time++) {
    const v1::PlayRequest request = stream->next();
    ASSERT_EQ(request.resigns_size(), 1);
    EXPECT_EQ(request.resigns(0).reason(), "std::runtime_error: lost my notes");
    stream->cut();
    stream = peer.welcome(new_welcome("one", true));
    EXPECT_EQ(matches_of(stream->hello), Ids{1});
  }
  EXPECT_EQ(stream->next().resigns_size(), 1);
  stream->cut();
  stream = peer.welcome(new_welcome("two"));
  EXPECT_EQ(stream->pause().size(), 1u);
  stream->cut();
  EXPECT_EQ(matches_of(peer.accept()->hello), Ids{});
}

// After these reasons another attempt may succeed.
TEST(Reconnect, RetryableReasons) {
  for (const auto& [reason, code] :
       std::vector<std::pair<std::string, grpc::StatusCode>>{{"SHUTTING_DOWN", grpc::StatusCode::UNAVAILABLE},
                                                             {"NO_HEARTBEAT", grpc::StatusCode::ABORTED},
                                                             {"STALLED", grpc::StatusCode::ABORTED},
                                                             {"RATE_LIMITED", grpc::StatusCode::RESOURCE_EXHAUSTED},
                                                             {"TOO_MANY_STREAMS", grpc::StatusCode::RESOURCE_EXHAUSTED},
                                                             {"OF_A_NEWER_SERVER", grpc::StatusCode::UNAVAILABLE},
                                                             {"", grpc::StatusCode::INTERNAL}}) {
    Peer peer;
    peer.play(stateless(first));
    const auto stream = peer.welcome(new_welcome("one"));
    stream->pause();
    stream->end(refusal(code, reason, std::chrono::milliseconds(1)));
    EXPECT_EQ(peer.accept()->hello.resume_token(), "one") << reason;
  }
}

// The bot makes the pause that a server asks for.
TEST(Reconnect, RetryAfter) {
  Peer peer;
  peer.play(stateless(first));
  const auto stream = peer.welcome();
  stream->pause();
  const auto before = std::chrono::steady_clock::now();
  stream->end(refusal(grpc::StatusCode::RESOURCE_EXHAUSTED, "RATE_LIMITED", std::chrono::milliseconds(300)));
  peer.accept();
  EXPECT_GE(std::chrono::steady_clock::now() - before, std::chrono::milliseconds(300));
}

// A server that shut down in good order and doesn't come back is no error, any other one is.
TEST(Reconnect, ServerGone) {
  Peer peer;
  Program& shut_down = peer.play(stateless(first), {.reconnect = std::chrono::seconds(0)});
  peer.welcome()->end(refusal(grpc::StatusCode::UNAVAILABLE, "SHUTTING_DOWN"));
  EXPECT_EQ(shut_down.end(), "");
  Program& lost = peer.play(stateless(first), {.reconnect = std::chrono::seconds(0)});
  peer.welcome()->cut();
  EXPECT_NE(lost.end(), "");
}

// A server that is silent for three of its ping intervals is taken for dead; messages keep it alive.
TEST(Reconnect, Silence) {
  Peer peer;
  peer.play(stateless(first));
  v1::Welcome welcome = new_welcome("one");
  welcome.mutable_ping_interval()->set_nanos(50'000'000);
  const Clock::duration bearable = std::chrono::milliseconds(3 * 50);
  const Clock::time_point begun = Clock::now();
  const auto stream = peer.welcome(welcome);
  // A ping surely came in time when the one after it is answered. On a machine so busy that the bot meets a silence
  // meanwhile, it may leave.
  Clock::duration silent{};
  Clock::time_point last = begun, before_last = begun;
  bool alive = true;
  while (alive && Clock::now() < begun + 2 * bearable) {
    const Clock::time_point pinged = Clock::now();
    alive = stream->is_answered();
    silent = std::max(silent, Clock::now() - before_last);
    before_last = std::exchange(last, pinged);
  }
  EXPECT_TRUE(!alive || stream->was_silent_to_its_end());
  EXPECT_GE(std::max(silent, Clock::now() - before_last), bearable);
  EXPECT_EQ(peer.accept()->hello.resume_token(), "one");
}

}  // namespace
}  // namespace happycity
