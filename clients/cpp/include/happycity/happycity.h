/// Connects bots to a Happy City arena.
///
/// A bot is a function that answers a decision with the position of a move:
///
///     std::size_t first(const happycity::Decision& decision) {
///       return 0;  // the first move is always the neutral one
///     }
///
///     int main() {
///       return happycity::run(first);
///     }
///
/// A bot with a memory is a class that inherits happycity::Bot; one is made for each game. Many games are played at
/// once. The library takes care of connecting, batches, pings, lost connections and the goodbye. run() is a whole
/// program; play() is for programs that do other things too. What an author should know is written to the standard
/// error.
///
/// The messages are those of the contract, namespace happycity::v1, the most common under shorter names.
#pragma once

#include <chrono>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>

#include "happycity/bot.h"

namespace happycity {

/// What a bot says of itself. Texts are one line of at most 80 characters, the description of 200.
struct BotInfo {
  /// Who wrote it.
  std::string author = {};
  /// Its own version, not that of its SDK; HAPPYCITY_VERSION.
  std::string version = {};
  /// A line about it.
  std::string description = {};
};

/// Where and as whom a bot plays. What is left out comes from the environment, or has a default.
struct Settings {
  /// The bot's name, 1 to 64 letters, digits or any of "._-+"; HAPPYCITY_NAME. By default the name that the token is
  /// for, or without a token the program's.
  std::string name = {};
  /// What the bot says of itself, for lists, standings and reports.
  BotInfo info = {};
  /// The server's address, grpc://host:port, or grpcs://host:port with TLS; HAPPYCITY_SERVER, or
  /// grpc://127.0.0.1:50051.
  std::string server = {};
  /// The bot's token, for a server that needs one; HAPPYCITY_TOKEN.
  std::string token = {};
  /// Maximum number of games at once, 0 for any number; HAPPYCITY_GAMES, or 8.
  std::optional<unsigned> games = {};
  /// Number of threads on which bots choose; 0 means as many as there are cores.
  unsigned thinkers = 0;
  /// How long to look for a server that was lost; 0 never tries again.
  std::chrono::milliseconds reconnect = std::chrono::minutes(1);
};

/// Why a bot can't play, or plays no more: a setting can't be used, or the server can't be reached, refused the bot,
/// broke the protocol, or went away for too long. Its what() is one line that says what happened, and what to do.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& text, std::string reason = {}, int exit_status = 2)
      : std::runtime_error(text), reason_(std::move(reason)), exit_status_(exit_status) {}

  /// The server's reason, as in the contract, such as "REPLACED"; empty if it gave none.
  const std::string& reason() const { return reason_; }

  /// The exit status of run(): 1 if the server broke the protocol, else 2.
  int exit_status() const { return exit_status_; }

 private:
  std::string reason_;
  int exit_status_;
};

/// Is a bot's whole program: plays until the server ends the session for good, or until SIGINT or SIGTERM, and returns
/// the exit status. If the bot can't play, one line on the standard error says why, and the status is
/// Error::exit_status().
int run(Factory factory, const Settings& settings = {});

/// The same for a bot that is one function.
inline int run(Choose choose, const Settings& settings = {}) {
  return run(stateless(std::move(choose)), settings);
}

/// The same for a bot that is a class.
template <std::derived_from<Bot> B>
int run(const Settings& settings = {}) {
  return run(factory_of<B>(), settings);
}

/// Plays all games that the server offers, until it ends the session for good.
///
/// A connection that is lost is made again, and the games go on. When a stop is requested, play() says goodbye
/// to the server and returns. Bots that are thinking then have a second to return; the thread of one that doesn't
/// is left alone, so all that the bot refers to has to outlive it.
///
/// Throws Error if a setting can't be used, if there is no server, if it refuses the bot or breaks the protocol, or if
/// a server that was lost isn't found again.
void play(Factory factory, const Settings& settings = {}, std::stop_token stop = {});

}  // namespace happycity
