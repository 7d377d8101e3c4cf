#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "crash_log.h"
#include "happycity/bot.h"
#include "happycity/settings.h"
#include "outbox.h"
#include "pool.h"
#include "seat.h"

namespace happycity {

/// Plays all games of one bot. They outlive the connection: it may be lost and resumed.
///
/// Each decision is put to the bot once. If the server sends it again, after a lost connection, the answer comes from
/// memory: asking twice would advance the bot's randomness.
class Player : public std::enable_shared_from_this<Player> {
 public:
  /// Bots think in the pool, which they may share with those of other players.
  Player(Factory factory, Log log, std::shared_ptr<Pool> pool);

  /// Returns the matches that run as far as the bot knows.
  std::vector<std::int64_t> match_ids() const;

  /// Notes that a server took the bot in; the games go on only if it says so.
  void welcome(Outbox& out, bool resumed);

  /// Notes that the connection is lost: what was not sent is sent only if it is asked for again.
  void disconnect();

  /// Handles a batch, in the order that the contract demands, and takes it apart. Never waits for a bot.
  void handle(v1::PlayResponse& batch);

  /// Ends all thinking, and logs how often the bot crashed; no bot gets a decision after that.
  void close();

 private:
  using SeatPointer = std::shared_ptr<Seat>;

  // All of these want the mutex to be locked.
  void start(GameStarted&& started);
  void decide(v1::Decision&& message);
  void ask(const SeatPointer& seat, v1::Decision&& message);
  void settle(Seat& seat, v1::Answer&& answer);
  void run_out(Seat& seat);
  void crash(Seat& seat, const std::string& reason);
  void end(const v1::GameOver& over);
  void end_seat(const SeatPointer& seat, const v1::GameOver& over);
  void void_game(const SeatPointer& seat);
  void log_forfeit(const Seat& seat, const v1::MatchResult& result) const;
  void leave(Seat& seat);
  void stop_thinking(Seat& seat);
  void expect_answer(Seat& seat);
  void expect_nothing(Seat& seat);
  void flush_if_complete();
  bool is_of_use(const Seat& seat, const Decision& decision) const;
  void submit(const SeatPointer& seat, std::function<void()> task);

  // These call the author's code, which may take long, without the mutex.
  void make_bot(Seat& seat, const GameStarted& started);
  void think(Seat& seat, const Decision& decision);
  void let_end(Seat& seat, const v1::GameOver& over);
  void do_next_task(const SeatPointer& seat);

  const Factory factory_;
  const Log log_;
  CrashLog crashes_;  // guarded by the mutex

  mutable std::mutex mutex_;
  std::map<SeatId, SeatPointer> seats_;
  std::map<SeatId, v1::Resign> resigned_;  // until the game's end arrives
  Outbox* out_ = nullptr;                  // of the present connection, if there is one
  int due_ = 0;                            // how many answers that connection's server waits for
  bool is_closed_ = false;

  const std::shared_ptr<Pool> pool_;
};

}  // namespace happycity
