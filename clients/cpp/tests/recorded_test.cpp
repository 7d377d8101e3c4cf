#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "happycity/bot.h"

namespace happycity {
namespace {

const char* const first = TESTDATA "/first.decision";

// The file has the start of the game, the decision, and all that happened before.
TEST(Recorded, StartAndDecision) {
  const auto [started, message] = read_decision(first);
  EXPECT_EQ(started.match_id(), 22);
  EXPECT_EQ(started.bots(static_cast<int>(started.seat())), "mine");
  EXPECT_EQ(started.seed(), 1ull << 63);
  const Decision decision(message);
  EXPECT_EQ(message.decision_id(), 32u);
  EXPECT_EQ(decision.seat(), 1);
  EXPECT_EQ(decision.moves().size(), 6);
  EXPECT_GE(decision.events().size(), 32);
  EXPECT_FALSE(decision.time_left().has_value());
}

struct Fourth final : Bot {
  explicit Fourth(const GameStarted& started) : seat(started.seat()) {}
  std::size_t choose(const Decision&) override { return seat + 2; }
  std::size_t seat;
};

// A bot is made for the game, and asked there.
TEST(Recorded, Ask) {
  EXPECT_EQ(info_of(ask<Fourth>(first).card()).name(), "Spa");
  EXPECT_EQ(ask([](const Decision&) { return std::size_t{0}; }, first).kind(), v1::MOVE_KIND_COIN);
}

// A file of another kind and an illegal choice are errors.
TEST(Recorded, Errors) {
  const Choose last = [](const Decision& decision) { return static_cast<std::size_t>(decision.moves().size()); };
  EXPECT_THROW(ask(last, first), std::out_of_range);
  EXPECT_THROW(ask(last, TESTDATA "/nowhere"), std::runtime_error);
  try {
    ask(last, TESTDATA "/catalogue.json");
    ADD_FAILURE();
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("catalogue.json is not a decision as this writes it"), std::string::npos);
  }
}

}  // namespace
}  // namespace happycity
