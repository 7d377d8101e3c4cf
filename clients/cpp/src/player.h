#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "happycity/bot.h"

namespace happycity {

/// A bot in one seat of a match, the last decision that it was asked, and its reply. Guarded by the mutex of Player.
struct Game {
  explicit Game(GameStarted&& message) : started(std::move(message)) {}

  /// Takes back the decision that the bot was asked.
  void withdraw() {
    if (decision != nullptr) {
      decision->close();
      decision = nullptr;
    }
  }

  const GameStarted started;
  std::unique_ptr<Bot> bot;  // belongs to the thread that serves the game
  bool is_busy = false;      // whether a thread serves the game, or will
  bool is_done = false;      // whether the bot is not called any more: it has crashed, or its game is over

  std::uint32_t asked = 0;               // the last decision that the bot was asked, or 0
  std::uint32_t round = 0;               // the round of that decision
  int asked_on = 0;                      // the connection on which the server asked last
  std::shared_ptr<Decision> decision;    // what the bot has to answer, or thinks about
  std::optional<v1::PlayRequest> reply;  // an answer to the decision that was asked last, or a resignation
  std::optional<v1::GameOver> over;      // how the game ended, until the bot knows
};

/// Plays all games of one bot. They outlive the connection: it may be lost and resumed.
///
/// Each decision is put to the bot once. If the server sends it again, after a lost connection, the reply comes from
/// memory: asking twice would advance the bot's randomness.
class Player {
 public:
  using Send = std::function<void(const v1::PlayRequest&)>;

  /// Has to be served by that number of threads.
  Player(Factory factory, unsigned threads) : factory_(std::move(factory)), threads_(threads) {}

  /// Serves the games, one call of a bot after the other, until close().
  void work();

  /// Begins a connection, by which replies are sent, and drops the games that the server doesn't know any more.
  void welcome(const v1::Welcome& welcome, Send send);

  /// Ends the connection: what was not sent is sent only if the server asks again.
  void disconnect();

  /// Handles games and decisions of a batch, and takes it apart. Never waits for a bot.
  void handle(v1::PlayResponse& batch);

  /// Ends all thinking. Returns whether all bots returned in a second; then none of them is left.
  bool close();

 private:
  using GameId = std::pair<std::int64_t, std::uint32_t>;
  using GamePointer = std::shared_ptr<Game>;
  using Clock = std::chrono::steady_clock;
  using Lock = std::unique_lock<std::mutex>;

  // All of these want the mutex to be locked. Those with a lock unlock it for the author's code.
  void start(GameStarted&& started);
  void decide(v1::Decision&& message);
  void end(const v1::GameOver& over);
  void enqueue(const GamePointer& game);
  void serve(Game& game, Lock& lock);
  void make_bot(Game& game, Lock& lock);
  void think(Game& game, Lock& lock);
  void tell(Game& game, Lock& lock);
  static std::string call(Lock& lock, const std::function<void()>& code);
  void crash(Game& game, const std::string& reason);
  void reply(Game& game, v1::PlayRequest&& reply);
  void flush();

  const Factory factory_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable finished_;
  std::map<GameId, GamePointer> games_;
  std::deque<GamePointer> queue_;  // of games whose bots have something to do
  unsigned threads_;               // that serve the games
  Send send_;                      // on the present connection, if there is one
  v1::PlayRequest gathered_;       // what is to be sent on it
  Clock::time_point gathered_since_;
  int connection_ = 0;  // its number, or that of the last one
  bool is_closed_ = false;
};

}  // namespace happycity
