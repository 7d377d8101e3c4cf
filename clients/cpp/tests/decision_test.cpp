#include "happycity/decision.h"

#include <gtest/gtest.h>

#include "peer.h"

namespace happycity {
namespace {

using std::chrono::microseconds;

// The clock is read as times; what is absent is nothing, and zero is a time.
TEST(Decision, Clock) {
  v1::Decision message = decision(1, 1);
  message.mutable_clock()->set_time_left_us(0);
  message.mutable_clock()->set_last_think_us(1500);
  message.mutable_clock()->set_round_trip_us(300);
  const Decision hurried(message);
  EXPECT_EQ(hurried.time_left(), microseconds(0));
  EXPECT_EQ(hurried.bank_left(), std::nullopt);
  EXPECT_EQ(hurried.last_think(), microseconds(1500));
  EXPECT_EQ(hurried.round_trip(), microseconds(300));
  EXPECT_FALSE(hurried.is_open());
}

// Without a clock nothing is limited.
TEST(Decision, NoClock) {
  const Decision patient(decision(1, 1));
  EXPECT_EQ(patient.time_left(), std::nullopt);
  EXPECT_EQ(patient.last_think(), std::nullopt);
  EXPECT_TRUE(patient.is_open());
}

}  // namespace
}  // namespace happycity
