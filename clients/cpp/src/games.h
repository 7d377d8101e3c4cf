#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "game.h"
#include "happycity/bot.h"
#include "happycity/settings.h"
#include "outbox.h"
#include "pool.h"

namespace happycity {

/// All games of one bot. They outlive the connection: it may be lost and taken up again.
///
/// Each decision is put to the bot once. If the server sends it again, after a lost connection, the answer comes
/// from memory: asking twice would advance the bot's randomness.
class Games : public std::enable_shared_from_this<Games> {
 public:
  Games(Factory factory, Log log, unsigned thinkers);

  /// Returns the games that run as far as the bot knows.
  std::vector<std::uint64_t> known() const;

  /// Notes that a server took the bot in; the games go on only if it says so.
  void attach(Outbox& out, bool resumed);

  /// Notes that the connection is lost: what was not sent is sent only if it is asked for again.
  void detach();

  /// Deals with a batch, in the order that the protocol demands, and takes it apart. Never waits for a bot.
  void handle(v1::PlayResponse& batch);

  /// Ends all thinking; nothing is asked of any bot after it.
  void close();

  /// Returns when all bots are done with what they were asked, or after that time. Tells whether they are done.
  bool wait(std::chrono::milliseconds at_most);

 private:
  using GamePointer = std::shared_ptr<Game>;
  using TimePoint = Bot::Clock::time_point;

  // games.cpp: the course of the games. All of these want the mutex to be locked.
  void begin(GameStarted&& start);
  void decide(Decision&& decision);
  void end(GameOver&& over);
  void void_game(const GamePointer& game);
  void part(const GamePointer& game, GameOver&& over);
  void leave(Game& game);

  // thinking.cpp: the answers to decisions. These too,
  void ask(const GamePointer& game, Decision&& decision);
  void settle(Game& game, v1::Answer&& answer);
  void give_up(Game& game, const std::string& error);
  void drop_thought(Game& game);
  void want(Game& game);
  void flush_if_done();
  bool is_awaited(const Game& game, const Decision& decision) const;
  void submit(const GamePointer& game, std::function<void()> chore);
  // but these lock it: they are chores, and the calls of the author's code in them may take long.
  void make(Game& game, const GameStarted& start);
  void think(Game& game, const Decision& decision, TimePoint deadline);
  void next_chore(const GamePointer& game);

  const Factory factory_;
  const Log log_;

  mutable std::mutex mutex_;
  std::map<std::uint64_t, GamePointer> running_;
  std::map<std::uint64_t, std::string> given_up_;  // by game, why; until its end is heard
  Outbox* out_ = nullptr;                          // of the present connection, if there is one
  int waiting_ = 0;                                // how many answers that connection's server waits for
  bool closed_ = false;

  Pool pool_;  // the last, so that its threads end first
};

}  // namespace happycity
