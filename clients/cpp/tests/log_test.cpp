#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <vector>

#include "crash_log.h"
#include "player.h"
#include "text.h"

namespace happycity {
namespace {

Log into(std::vector<std::string>& lines) {
  return [&lines](Level, std::string_view text) { lines.emplace_back(text); };
}

// A crash is logged in full once, then at powers of ten and at the end; numbers don't make another kind.
TEST(Logs, RepeatedCrashes) {
  std::vector<std::string> lines;
  CrashLog crashes(into(lines));
  for (int id = 1; id <= 25; id++) {
    crashes.add("given up", id, place(id, 2, 3), "card " + std::to_string(id) + " is missing");
  }
  crashes.add("given up", 99, place(99), "lost");
  crashes.close();
  const std::vector<std::string> expected = {
      "match 1, round 2, decision 3: given up: card 1 is missing",
      "match 10, round 2, decision 3: the same crash as in match 1 (10 so far): card 1 is missing",
      "match 99: given up: lost",
      "the same crash in 25 games, first in match 1: card 1 is missing",
  };
  EXPECT_EQ(lines, expected);
}

// A bot whose errors are all different fills neither the memory nor the log.
TEST(Logs, ManyKindsOfCrashes) {
  std::vector<std::string> lines;
  CrashLog crashes(into(lines));
  for (std::size_t i = 0; i < 1000; i++) {
    crashes.add("given up", 1, "match 1", std::string(i, 'x'));
  }
  crashes.close();
  EXPECT_LT(lines.size(), 105u);
}

// The end of a game says in one line that the server gave the seat up.
TEST(Logs, Forfeit) {
  std::vector<std::string> lines;
  v1::PlayResponse batch;
  batch.add_games_started()->set_match_id(7);
  v1::SeatResult& own = *batch.add_games_over()->mutable_result()->add_seats();
  batch.mutable_games_over(0)->set_match_id(7);
  own.set_ending(v1::ENDING_TIMEOUT);
  own.set_reason("no answer\nwithin 10 s");
  Outbox out([] {});
  const auto pool = std::make_shared<Pool>(1);
  const auto player = std::make_shared<Player>([](const GameStarted&) { return nullptr; }, into(lines), pool);
  player->welcome(out, false);
  player->handle(batch);
  player->close();
  EXPECT_TRUE(pool->wait(std::chrono::minutes(1)));
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines[0], "match 7: the seat was forfeited: timeout: no answer within 10 s");
}

// A line has the time in UTC.
TEST(Logs, Time) {
  testing::internal::CaptureStderr();
  log_to_stderr(Level::warning, "late");
  const std::string line = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(std::regex_match(line, std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ WARNING late\n)"))) << line;
}

}  // namespace
}  // namespace happycity
