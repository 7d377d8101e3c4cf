#include <gtest/gtest.h>

#include <limits>

#include "bots.h"
#include "peer.h"
#include "stream_status.h"

namespace happycity {
namespace {

// Times that no clock can hold, unknown matches and missing fields stop no bot.
TEST(Malformed, Messages) {
  constexpr auto lowest = std::numeric_limits<std::int64_t>::min();
  Peer peer;
  peer.play(stateless([](const Decision& decision) { return decision.time_left().has_value() ? 2 : decision.seat(); }));
  v1::Welcome welcome;
  welcome.mutable_ping_interval()->set_seconds(std::numeric_limits<std::int64_t>::max());
  welcome.mutable_ping_interval()->set_nanos(std::numeric_limits<std::int32_t>::max());
  const auto stream = peer.welcome(welcome);
  stream->start({lowest});
  v1::PlayResponse batch;
  batch.add_games_started()->set_seat(std::numeric_limits<std::uint32_t>::max());
  *batch.add_decisions() = decision(99, std::numeric_limits<std::uint32_t>::max());
  batch.add_games_over()->set_match_id(-99);
  v1::Notice& notice = *batch.add_notices();
  notice.set_kind(static_cast<v1::NoticeKind>(99));
  notice.set_text(std::string(1'000'000, '\x1b'));
  stream->send(batch);
  v1::Decision endless = decision(lowest, std::numeric_limits<std::uint32_t>::max());
  endless.clear_view();
  endless.mutable_clock()->set_time_left_us(std::numeric_limits<std::uint64_t>::max());
  stream->ask({endless});
  EXPECT_EQ(stream->answers().at(lowest), 2u);
}

// A negative ping interval is none.
TEST(Malformed, NegativeInterval) {
  Peer peer;
  peer.play(stateless(first));
  v1::Welcome welcome;
  welcome.mutable_ping_interval()->set_seconds(std::numeric_limits<std::int64_t>::min());
  welcome.mutable_ping_interval()->set_nanos(-1);
  EXPECT_EQ(peer.welcome(welcome)->pause().size(), 1u);
}

// Details that are damaged, or of another service, are none.
TEST(Malformed, Details) {
  std::string foreign = refusal(grpc::StatusCode::ABORTED, "STALLED", std::chrono::milliseconds(1)).error_details();
  foreign.replace(foreign.find("happycity.dev"), 13, "example.organ");
  for (const std::string& details : {std::string("\xff\xff\xff"), std::string("no details"), foreign}) {
    const auto status = StreamStatus::of(grpc::Status(grpc::StatusCode::ABORTED, "\x1b[2J gone\nfor good", details));
    EXPECT_EQ(status.reason, "");
    EXPECT_EQ(status.retry_after, std::nullopt);
    EXPECT_EQ(status.text, "[2J gone for good");
  }
}

// A bot that gets such details ends with the status code and the text.
TEST(Malformed, Refusal) {
  Peer peer;
  Program& bot = peer.play(stateless(first));
  peer.accept()->end(grpc::Status(grpc::StatusCode::NOT_FOUND, "\x1b[2J gone\nfor good", "\xff\xff\xff"));
  EXPECT_TRUE(bot.end().ends_with("ended the session of \"tester\": [2J gone for good"));
}

// A pause that the server asks for is bounded.
TEST(Malformed, RetryAfter) {
  google::protobuf::Duration time;
  time.set_seconds(std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(bounded(time), std::chrono::hours(1));
  time.set_seconds(-5);
  EXPECT_EQ(bounded(time), std::chrono::hours(0));
  time.set_seconds(1);
  time.set_nanos(500'000'000);
  EXPECT_EQ(bounded(time), std::chrono::milliseconds(1500));
}

}  // namespace
}  // namespace happycity
