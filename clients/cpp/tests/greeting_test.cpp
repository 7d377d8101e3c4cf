#include <gtest/gtest.h>

#include "bots.h"
#include "connection.h"
#include "peer.h"

namespace happycity {
namespace {

// The hello says who is calling, and the token travels as a bearer token.
TEST(Greeting, Hello) {
  Peer peer;
  peer.play(stateless(first),
            {.name = "me", .info = {.author = "Ann", .version = "1.2"}, .token = "secret", .games = 3});
  const auto stream = peer.accept();
  EXPECT_EQ(stream->hello.name(), "me");
  EXPECT_EQ(stream->hello.max_games(), 3u);
  EXPECT_EQ(stream->hello.software(), std::string("happycity-cpp/") + version());
  EXPECT_EQ(stream->hello.info().author(), "Ann");
  EXPECT_EQ(stream->hello.info().version(), "1.2");
  EXPECT_EQ(stream->hello.info().language(), "C++20");
  EXPECT_EQ(stream->hello.resume_token(), "");
  EXPECT_TRUE(stream->hello.match_ids().empty());
  EXPECT_EQ(stream->authorization, std::vector<std::string>{"Bearer secret"});
}

// Any number of games is no number on the wire, and without a token there is no authorization.
TEST(Greeting, HelloToAnOpenServer) {
  Peer peer;
  peer.play(stateless(first), {.games = unlimited});
  const auto stream = peer.accept();
  EXPECT_FALSE(stream->hello.has_max_games());
  EXPECT_TRUE(stream->authorization.empty());
}

// A bot that is refused for good ends with the server's reason, and doesn't try again.
TEST(Greeting, Refusals) {
  for (const auto& [reason, code] :
       std::vector<std::pair<std::string, grpc::StatusCode>>{{"REPLACED", grpc::StatusCode::ABORTED},
                                                             {"UNAUTHENTICATED", grpc::StatusCode::UNAUTHENTICATED},
                                                             {"WRONG_NAME", grpc::StatusCode::PERMISSION_DENIED},
                                                             {"WRONG_ROLE", grpc::StatusCode::PERMISSION_DENIED},
                                                             {"REVOKED", grpc::StatusCode::PERMISSION_DENIED},
                                                             {"INVALID_FIELD", grpc::StatusCode::INVALID_ARGUMENT},
                                                             {"HELLO_EXPECTED", grpc::StatusCode::INVALID_ARGUMENT},
                                                             {"", grpc::StatusCode::UNIMPLEMENTED}}) {
    Peer peer;
    Program& bot = peer.play(stateless(first));
    peer.accept()->end(refusal(code, reason, {}, "two\n\x1blines"));
    const auto error = bot.end_with<ConnectionError>();
    EXPECT_EQ(error.reason(), reason);
    EXPECT_EQ(error.code(), code);
    EXPECT_EQ(error.what(), peer.address() + " ended the session of \"tester\": two lines");
    EXPECT_FALSE(peer.has_streams());
  }
}

// A server that doesn't welcome the bot can't be played on.
TEST(Greeting, NoWelcome) {
  Peer peer;
  Program& bot = peer.play(stateless(first));
  peer.accept()->send({});
  EXPECT_TRUE(bot.end().ends_with("its first message is no welcome; is it a Happy City server?"));
}

// Without a server the bot ends at once, and says what to do.
TEST(Greeting, NoServer) {
  Peer peer;
  Program& bot = peer.play(stateless(first), {.server = "127.0.0.1:1"});
  EXPECT_NE(bot.end().find("happycity serve"), std::string::npos);
}

// An address that can't be used is out of reach.
TEST(Greeting, NoAddress) {
  Peer peer;
  Program& bot = peer.play(stateless(first), {.server = "host:port:more"});
  EXPECT_TRUE(bot.end().starts_with("no connection to host:port:more: "));
}

// A bot that waits for its server plays as soon as that is there; it can be stopped meanwhile.
TEST(Greeting, StoppedWhileWaiting) {
  Peer peer;
  Program& bot = peer.play(stateless(first), {.server = "127.0.0.1:1", .wait = std::chrono::hours(1)});
  bot.stop();
  EXPECT_EQ(bot.end(), "");
}

// A bot that was not welcomed yet can be stopped too.
TEST(Greeting, StoppedBeforeTheWelcome) {
  Peer peer;
  Program& bot = peer.play(stateless(first));
  const auto stream = peer.accept();
  bot.stop();
  EXPECT_EQ(bot.end(), "");
}

// When it is stopped, a bot says goodbye, closes its side, and ends without an error.
TEST(Greeting, Goodbye) {
  Peer peer;
  Program& bot = peer.play(stateless(first));
  const auto stream = peer.welcome();
  stream->pause();
  bot.stop();
  EXPECT_TRUE(stream->next().has_goodbye());
  EXPECT_EQ(bot.end(), "");
  EXPECT_TRUE(stream->was_silent_to_its_end());
}

// The bot doesn't wait for a server that doesn't end the stream after the goodbye.
TEST(Greeting, GoodbyeToTheDeaf) {
  goodbye_time = std::chrono::milliseconds(1);
  Peer peer;
  Program& bot = peer.play(stateless(first));
  const auto stream = peer.welcome();
  stream->lingers = true;
  stream->pause();
  bot.stop();
  EXPECT_EQ(bot.end(), "");
  stream->end(grpc::Status::OK);
  goodbye_time = patience;
}

// A bot that thinks when it is stopped can see that, and doesn't delay the goodbye.
TEST(Greeting, GoodbyeWhileThinking) {
  Peer peer;
  Questions asked;
  Program& bot = peer.play(Thinker::made_for(asked));
  const auto stream = peer.welcome();
  stream->start({1});
  stream->ask({decision(1, 1)});
  const auto question = asked.take("question");
  EXPECT_TRUE(question->decision.is_open());
  bot.stop();
  EXPECT_TRUE(stream->next().has_goodbye());
  wait_until([&] { return !question->decision.is_open(); }, "end of the decision");
  question->answer.put(0);
  EXPECT_EQ(bot.end(), "");
}

// A bot that doesn't stop thinking doesn't delay the end of play().
TEST(Greeting, NeverStopsThinking) {
  Questions asked;
  std::shared_ptr<Question> question;
  {
    Peer peer;
    Program& bot = peer.play(Thinker::made_for(asked));
    const auto stream = peer.welcome();
    stream->start({1});
    stream->ask({decision(1, 1)});
    question = asked.take("question");
    bot.stop();
    EXPECT_EQ(bot.end(), "");
  }
  // Its thread ends when it answers at last; the last that it holds is its bot.
  question->answer.put(0);
}

// A server that ends the stream in good order ends the bot without an error.
TEST(Greeting, ServerEnds) {
  Peer peer;
  Program& bot = peer.play(stateless(first));
  const auto stream = peer.welcome();
  stream->pause();
  stream->end(grpc::Status::OK);
  EXPECT_EQ(bot.end(), "");
}

}  // namespace
}  // namespace happycity
