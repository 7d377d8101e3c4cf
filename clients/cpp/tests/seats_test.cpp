#include <gtest/gtest.h>

#include <stdexcept>

#include "bots.h"
#include "peer.h"

namespace happycity {
namespace {

/// Begins match 7 with the bot in seats 0 and 2.
Peer::Stream start(Peer& peer) {
  auto stream = peer.welcome(new_welcome("one"));
  v1::PlayResponse batch;
  *batch.add_games_started() = started(7, 0);
  *batch.add_games_started() = started(7, 2);
  stream->send(batch);
  return stream;
}

std::vector<std::int64_t> matches_of(const v1::Hello& hello) {
  return {hello.match_ids().begin(), hello.match_ids().end()};
}

// Each seat has a bot of its own, which is asked that seat's decisions.
TEST(Seats, BotForEach) {
  Peer peer;
  peer.play(factory_of<Counter>());
  const auto stream = start(peer);
  for (const auto& [seat, number, move] :
       std::vector<std::array<std::uint32_t, 3>>{{0, 1, 0}, {2, 2, 0}, {0, 4, 1}, {0, 5, 2}, {2, 6, 1}}) {
    stream->ask({decision(7, number, seat)});
    const v1::PlayRequest request = stream->next();
    ASSERT_EQ(request.answers_size(), 1);
    EXPECT_EQ(request.answers(0).decision_id(), number);
    EXPECT_EQ(request.answers(0).move(), move);
  }
}

// A bot that crashes in one seat plays on in the other. When it comes back, its hello names the match once.
TEST(Seats, CrashInOne) {
  Peer peer;
  peer.play([](const GameStarted& started) {
    return stateless([crashes = started.seat() == 2](const Decision&) -> std::size_t {
      return crashes ? throw std::runtime_error("lost my notes") : 1;
    })(started);
  });
  auto stream = start(peer);
  stream->ask({decision(7, 1, 2)});
  const v1::PlayRequest resigned = stream->next();
  ASSERT_EQ(resigned.resigns_size(), 1);
  EXPECT_EQ(resigned.resigns(0).seat(), 2u);
  stream->ask({decision(7, 2, 0)});
  EXPECT_EQ(stream->next().answers(0).move(), 1u);
  stream->cut();
  stream = peer.welcome(new_welcome("two", true));
  EXPECT_EQ(matches_of(stream->hello), std::vector<std::int64_t>{7});
  EXPECT_EQ(stream->next().SerializeAsString(), resigned.SerializeAsString());
}

// The end of the match is the end in all of its seats.
TEST(Seats, OneEnd) {
  Peer peer;
  Ends ends;
  peer.play(Listener::made_for(ends));
  auto stream = start(peer);
  v1::PlayResponse batch;
  v1::GameOver& over = *batch.add_games_over();
  over.set_match_id(7);
  over.mutable_result()->add_seats()->set_place(1);
  stream->send(batch);
  EXPECT_EQ(ends.overs.take("game_over").match_id, 7);
  EXPECT_EQ(ends.overs.take("game_over").match_id, 7);
  stream->cut();
  EXPECT_TRUE(peer.accept()->hello.match_ids().empty());
}

}  // namespace
}  // namespace happycity
