#include <gtest/gtest.h>

#include <csignal>
#include <future>

#include "bots.h"
#include "environment.h"
#include "peer.h"

namespace happycity {
namespace {

/// A bot's program, whose run() is called in the background.
std::future<int> running(const Peer& peer) {
  return std::async(std::launch::async, [&] { return run(first, {.server = peer.address()}); });
}

// When a signal stops it, a bot says goodbye and ends with status 0; the signals are as before then.
TEST(Run, Signals) {
  for (const int signal : {SIGINT, SIGTERM}) {
    std::signal(signal, SIG_IGN);
    Peer peer;
    std::future<int> status = running(peer);
    const auto stream = peer.welcome();
    stream->pause();
    std::raise(signal);
    EXPECT_TRUE(stream->next().has_goodbye());
    EXPECT_EQ(status.get(), 0);
    EXPECT_EQ(std::signal(signal, SIG_DFL), SIG_IGN);
  }
}

// A bot that is refused ends with status 2.
TEST(Run, Refused) {
  Peer peer;
  std::future<int> status = running(peer);
  peer.accept()->end(refusal(grpc::StatusCode::PERMISSION_DENIED, "WRONG_NAME"));
  EXPECT_EQ(status.get(), 2);
}

// A setting that can't be used ends with status 2, and one line on the standard error names it.
TEST(Run, StrangeSetting) {
  const Variable games("HAPPYCITY_GAMES", "many");
  testing::internal::CaptureStderr();
  EXPECT_EQ(run(first), 2);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "error: HAPPYCITY_GAMES: \"many\" is not a number of games\n");
}

// Without a server, one line says so.
TEST(Run, NoServer) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(run<Counter>({.server = "127.0.0.1:1"}), 2);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(text.starts_with("error: no connection to 127.0.0.1:1: ")) << text;
  EXPECT_EQ(text.find('\n'), text.size() - 1) << text;
}

/// Plays against a bot that never answers, stops it, and ends as its program would.
[[noreturn]] void stop_a_dreamer() {
  Peer peer;
  Questions asked;
  std::jthread script([&] {
    const auto stream = peer.welcome();
    stream->start({1});
    stream->ask({decision(1, 1)});
    asked.take("question");
    std::raise(SIGTERM);
  });
  std::exit(run(Thinker::made_for(asked), {.server = peer.address()}) + 1);  // run() ends the program itself
}

// A bot that never stops thinking doesn't delay the end of its program.
TEST(RunDeathTest, NeverStopsThinking) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(stop_a_dreamer(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace happycity
