#include "happycity/bot.h"

#include <gtest/gtest.h>

namespace happycity {
namespace {

// A decision without any time left is late.
TEST(Decision, Late) {
  v1::Decision message;
  message.mutable_clock()->set_time_left_us(0);
  const Decision hurried(message);
  EXPECT_EQ(hurried.time_left(), std::chrono::microseconds(0));
  EXPECT_FALSE(hurried.is_open());
}

// Without a clock nothing is limited, and the longest time of a clock is hardly a limit.
TEST(Decision, NoLimit) {
  const Decision patient((v1::Decision()));
  EXPECT_EQ(patient.time_left(), std::nullopt);
  EXPECT_TRUE(patient.is_open());
  v1::Decision message;
  message.mutable_clock()->set_time_left_us(UINT64_MAX);
  EXPECT_GT(Decision(message).time_left(), std::chrono::years(9));
}

// A later number replaces an earlier one, and a name that is not UTF-8 doesn't end the connection.
TEST(Decision, Notes) {
  const Decision decision((v1::Decision()));
  decision.note("depth", 1);
  decision.note("depth", 2);
  decision.note("\xff", 3);
  EXPECT_EQ(decision.notes(), (std::map<std::string, double>{{"depth", 2}, {"?", 3}}));
}

// Cards are found by their numbers, and unknown ones are worth nothing.
TEST(Catalogue, FindsCards) {
  int number = 0;
  for (const CardInfo& card : catalogue().cards()) {
    EXPECT_EQ(card.card(), ++number);
    EXPECT_EQ(&info_of(card.card()), &card);
  }
  EXPECT_EQ(number, v1::Card_MAX);
  EXPECT_EQ(info_of(static_cast<Card>(number + 1)).cost(), 0u);
  EXPECT_EQ(info_of(v1::CARD_UNSPECIFIED).id(), "");
  EXPECT_EQ(catalogue().digest().size(), 64u);
}

}  // namespace
}  // namespace happycity
