#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "happycity/bot.h"

namespace happycity {

/// Plays all games of one bot. They outlive the connection: it may be lost and resumed.
///
/// Each decision is put to the bot once. If the server sends it again, after a lost connection, the reply comes from
/// memory: asking twice would advance the bot's randomness.
class Player : public std::enable_shared_from_this<Player> {
 public:
  using Send = std::function<void(const v1::PlayRequest&)>;

  explicit Player(Factory factory) : factory_(std::move(factory)) {}

  /// Starts that number of threads on which bots choose; 0 means as many as there are cores.
  void start(unsigned threads);

  /// Begins a connection, by which replies are sent, and drops the games that the server doesn't know any more.
  void welcome(const v1::Welcome& welcome, Send send);

  /// Ends the connection: what was not sent is sent only if the server asks again.
  void disconnect();

  /// Handles games and decisions of a batch, and takes it apart. Never waits for a bot.
  void handle(v1::PlayResponse& batch);

  /// Ends all thinking. Returns whether all bots returned in a second; then none of them is left.
  bool close();

 private:
  struct Game;
  using GameId = std::pair<std::int64_t, std::uint32_t>;
  using GamePointer = std::shared_ptr<Game>;
  using Clock = std::chrono::steady_clock;
  using Lock = std::unique_lock<std::mutex>;

  void work();

  // All of these want the mutex to be locked. Those with a lock unlock it for the author's code.
  void decide(v1::Decision&& message);
  void end(const v1::GameOver& over);
  void enqueue(const GamePointer& game);
  void serve(Game& game, Lock& lock);
  void think(Game& game, Lock& lock);
  void crash(Game& game, const std::string& reason);
  void reply(const Game& game);
  void flush();

  const Factory factory_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<GameId, GamePointer> games_;
  std::deque<GamePointer> queue_;  // of games whose bots have something to do
  unsigned threads_ = 0;           // that serve the games
  Send send_;                      // on the present connection, if there is one
  v1::PlayRequest gathered_;       // what is to be sent on it
  Clock::time_point gathered_since_;
  bool is_closed_ = false;
};

}  // namespace happycity
