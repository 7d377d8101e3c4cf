#include "worker_streams.h"

#include <gtest/gtest.h>

#include "bots.h"
#include "peer.h"

namespace happycity {
namespace {

using Moves = std::map<std::int64_t, std::uint32_t>;

/// Returns a welcome that names the workers at these peers.
v1::Welcome naming(std::initializer_list<const Peer*> workers) {
  v1::Welcome welcome = new_welcome("of the server");
  for (const Peer* worker : workers) {
    welcome.add_worker_addresses(worker->address());
  }
  return welcome;
}

// A bot that plays any number of games plays at the workers too, under the same name and with the same token. Each
// game has a bot of its own, wherever it is played.
TEST(WorkerStreams, PlaysAtAll) {
  Peer server, one, other;
  server.play(factory_of<Counter>(), {.name = "me", .token = "secret", .games = unlimited});
  std::vector<Peer::Stream> streams{server.welcome(naming({&one, &other}))};
  for (Peer* worker : {&one, &other}) {
    streams.push_back(worker->welcome());
    EXPECT_EQ(streams.back()->hello.name(), "me");
    EXPECT_EQ(streams.back()->hello.resume_token(), "");
    EXPECT_FALSE(streams.back()->hello.has_max_games());
    EXPECT_EQ(streams.back()->authorization, std::vector<std::string>{"Bearer secret"});
  }
  for (std::size_t id = 0; id < streams.size(); id++) {
    streams[id]->start({static_cast<std::int64_t>(id)});
  }
  for (std::uint32_t round = 0; round < 3; round++) {
    for (std::size_t id = 0; id < streams.size(); id++) {
      streams[id]->ask({decision(static_cast<std::int64_t>(id), round + 1)});
    }
    for (std::size_t id = 0; id < streams.size(); id++) {
      EXPECT_EQ(streams[id]->answers(), (Moves{{static_cast<std::int64_t>(id), round}}));
    }
  }
}

// A lost stream to a worker is resumed with its own token and its own games, and so is the one to the server.
TEST(WorkerStreams, Resumes) {
  Peer server, worker;
  server.play(stateless(first), {.games = unlimited});
  auto at_server = server.welcome(naming({&worker}));
  auto at_worker = worker.welcome(new_welcome("of the worker"));
  at_server->start({1});
  at_worker->start({2});
  at_server->pause();
  at_worker->pause();
  at_worker->cut();
  at_worker = worker.accept();
  EXPECT_EQ(at_worker->hello.resume_token(), "of the worker");
  ASSERT_EQ(at_worker->hello.match_ids_size(), 1);
  EXPECT_EQ(at_worker->hello.match_ids(0), 2);
  at_server->cut();
  at_server = server.accept();
  EXPECT_EQ(at_server->hello.resume_token(), "of the server");
  ASSERT_EQ(at_server->hello.match_ids_size(), 1);
  EXPECT_EQ(at_server->hello.match_ids(0), 1);
}

// The bot leaves a worker that the next welcome doesn't name, stays at one that it names again, and comes back to one
// that ended its stream.
TEST(WorkerStreams, LaterWelcome) {
  Peer server, left, kept, ended;
  server.play(stateless(first), {.games = unlimited});
  auto at_server = server.welcome(naming({&left, &kept, &ended}));
  const auto at_left = left.welcome(), at_kept = kept.welcome();
  ended.welcome()->end(grpc::Status::OK);
  while (!ended.has_streams()) {  // the bot may get a welcome before it learns of that end
    at_server->pause();
    at_server->cut();
    at_server = server.welcome(naming({&kept, &ended}));
  }
  EXPECT_TRUE(at_left->next().has_goodbye());
  ended.accept();
  at_kept->pause();
  EXPECT_FALSE(kept.has_streams()) << "a second stream to the same worker";
}

// A worker that can't be reached, one that refuses the bot, and one to which its token would travel unencrypted are no
// reason to leave the server.
TEST(WorkerStreams, LostWorkers) {
  Peer server, refusing;
  Program& bot = server.play(stateless(first), {.token = "secret", .games = unlimited});
  v1::Welcome welcome = naming({&refusing});
  welcome.add_worker_addresses("127.0.0.1:1");
  welcome.add_worker_addresses("192.0.2.1:1");
  const auto at_server = server.welcome(welcome);
  refusing.accept()->end(refusal(grpc::StatusCode::PERMISSION_DENIED, "WRONG_NAME"));
  at_server->start({1});
  at_server->ask({decision(1, 1)});
  EXPECT_EQ(at_server->answers(), (Moves{{1, 0}}));
  at_server->end(grpc::Status::OK);
  EXPECT_EQ(bot.end(), "");
  EXPECT_FALSE(refusing.has_streams()) << "it tried again";
}

// The streams to workers end when the bot is stopped.
TEST(WorkerStreams, Stopped) {
  Peer server, worker;
  Program& bot = server.play(stateless(first), {.games = unlimited});
  const auto at_server = server.welcome(naming({&worker}));
  const auto at_worker = worker.welcome();
  at_server->pause();
  at_worker->pause();
  bot.stop();
  EXPECT_TRUE(at_server->next().has_goodbye());
  EXPECT_TRUE(at_worker->next().has_goodbye());
  EXPECT_EQ(bot.end(), "");
}

// The streams to workers end when the one to the server ends.
TEST(WorkerStreams, ServerEnds) {
  Peer server, worker;
  Program& bot = server.play(stateless(first), {.games = unlimited});
  const auto at_server = server.welcome(naming({&worker}));
  const auto at_worker = worker.welcome();
  at_worker->pause();
  at_server->end(refusal(grpc::StatusCode::ABORTED, "REPLACED"));
  EXPECT_TRUE(at_worker->next().has_goodbye());
  EXPECT_EQ(bot.end_with<ConnectionError>().reason(), "REPLACED");
}

// A bot with a maximum number of games stays at the server: the maximum holds for all its games together.
TEST(WorkerStreams, Maximum) {
  for (const auto& [games, expected] :
       std::map<unsigned, std::set<std::string>>{{8, {}}, {unlimited, {"one", "two"}}}) {
    Mailbox<std::string> played;
    {
      const Settings settings{.games = games};
      WorkerStreams workers(settings,
                            [&](const Settings& of_worker, const std::stop_token&) { played.put(of_worker.server); });
      workers.follow({"one", "two"});
    }
    std::set<std::string> servers;
    while (!played.is_empty()) {
      servers.insert(played.take("address"));
    }
    EXPECT_EQ(servers, expected);
  }
}

// No more bots think at once than the settings say, at all servers together.
TEST(WorkerStreams, Thinkers) {
  Peer server, worker;
  Questions asked;
  server.play(Thinker::made_for(asked), {.games = unlimited, .thinkers = 1});
  const auto at_server = server.welcome(naming({&worker}));
  const auto at_worker = worker.welcome();
  at_server->start({1});
  at_server->ask({decision(1, 1)});
  const auto question = asked.take("question");
  at_worker->start({2});
  at_worker->ask({decision(2, 1)});
  at_worker->pause();
  EXPECT_TRUE(asked.is_empty()) << "two bots think at once";
  question->answer.put(1);
  EXPECT_EQ(at_server->answers(), (Moves{{1, 1}}));
  asked.take("question")->answer.put(2);
  EXPECT_EQ(at_worker->answers(), (Moves{{2, 2}}));
}

}  // namespace
}  // namespace happycity
