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

#include <stop_token>
#include <utility>

#include "happycity/bot.h"
#include "happycity/catalogue.h"
#include "happycity/decision.h"
#include "happycity/errors.h"
#include "happycity/settings.h"

namespace happycity {

/// The version of this library.
const char* version();

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
