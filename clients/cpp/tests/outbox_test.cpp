#include "outbox.h"

#include <gtest/gtest.h>

#include "mailbox.h"

namespace happycity {
namespace {

v1::Resign resign(std::int64_t match_id) {
  v1::Resign resign;
  resign.set_match_id(match_id);
  return resign;
}

v1::Answer answer(std::int64_t match_id, std::uint32_t decision_id, std::uint32_t move) {
  v1::Answer answer;
  answer.set_match_id(match_id);
  answer.set_decision_id(decision_id);
  answer.set_move(move);
  return answer;
}

// What has gathered is sent as one message, and then there is nothing left.
TEST(Outbox, Gathers) {
  Outbox outbox([] {});
  v1::PlayRequest request;
  outbox.answer(answer(1, 4, 0));
  outbox.answer(answer(2, 5, 3));
  outbox.resign(resign(3));
  outbox.pong(1);
  outbox.pong(2);
  ASSERT_TRUE(outbox.take(request));
  EXPECT_EQ(request.answers_size(), 2);
  EXPECT_EQ(request.answers(1).match_id(), 2);
  EXPECT_EQ(request.answers(1).decision_id(), 5u);
  EXPECT_EQ(request.answers(1).move(), 3u);
  EXPECT_EQ(request.resigns(0).match_id(), 3);
  EXPECT_EQ(request.pong().nonce(), 2u);
  EXPECT_FALSE(outbox.take(request));
}

// A held answer is due after a while, even if nothing else happens; the sender is called once for all.
TEST(Outbox, Holds) {
  int hurried = 0;
  Outbox outbox([&] { hurried++; });
  v1::PlayRequest request;
  EXPECT_EQ(outbox.due(), Outbox::never);
  const auto before = Outbox::Clock::now();
  outbox.answer(answer(1, 1, 0));
  outbox.answer(answer(2, 1, 0));
  EXPECT_EQ(hurried, 1);
  EXPECT_GE(outbox.due(), before + Outbox::hold_time);
  wait_until([&] { return outbox.take(request); }, "message");
  EXPECT_GE(Outbox::Clock::now(), before + Outbox::hold_time);
  EXPECT_EQ(request.answers_size(), 2);
}

// A flushed answer is due at once.
TEST(Outbox, Flushes) {
  int hurried = 0;
  Outbox outbox([&] { hurried++; });
  v1::PlayRequest request;
  outbox.answer(answer(1, 1, 0));
  outbox.flush();
  EXPECT_EQ(hurried, 2);
  EXPECT_TRUE(outbox.take(request));
}

// An empty batch is never due.
TEST(Outbox, Empty) {
  int hurried = 0;
  Outbox outbox([&] { hurried++; });
  v1::PlayRequest request;
  outbox.flush();
  EXPECT_EQ(hurried, 0);
  EXPECT_EQ(outbox.due(), Outbox::never);
  outbox.resign(resign(1));
  outbox.forget(1);
  EXPECT_FALSE(outbox.take(request));
}

// After the end of a match nothing is sent about it.
TEST(Outbox, Forgets) {
  Outbox outbox([] {});
  v1::PlayRequest request;
  outbox.answer(answer(1, 1, 0));
  outbox.answer(answer(2, 1, 0));
  outbox.resign(resign(1));
  outbox.forget(1);
  ASSERT_TRUE(outbox.take(request));
  EXPECT_EQ(request.answers_size(), 1);
  EXPECT_EQ(request.answers(0).match_id(), 2);
  EXPECT_TRUE(request.resigns().empty());
}

}  // namespace
}  // namespace happycity
