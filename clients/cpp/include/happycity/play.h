#pragma once

#include <stop_token>
#include <utility>

#include "happycity/bot.h"
#include "happycity/settings.h"

namespace happycity {

/// The version of this library.
const char* version();

/// Is a bot's whole program: plays until the server ends the session for good, or until SIGINT or SIGTERM, and returns
/// the exit status. That is 0, or 2 if there is no server to play on or it refuses the bot; then one line on the
/// standard error says so.
int run(Factory factory, Settings settings = {});

/// The same for a bot that is one function.
inline int run(Choose choose, Settings settings = {}) {
  return run(stateless(std::move(choose)), std::move(settings));
}

/// The same for a bot that is a class.
template <std::derived_from<Bot> B>
int run(Settings settings = {}) {
  return run(factory_of<B>(), std::move(settings));
}

/// Plays all games that the server offers, until it ends the session for good.
///
/// A connection that is lost is made again, and the games go on. When a stop is requested, play() says goodbye
/// to the server and returns. Bots that are thinking then have a second to return; the thread of one that doesn't
/// is left alone, so whatever that bot refers to has to outlive it. A bot that plays any number of games at once also
/// plays at the workers of the server.
///
/// Throws SettingError if a setting can't be used, and ConnectionError if there is no server, if it refuses the
/// bot, or if it didn't come back.
void play(Factory factory, Settings settings = {}, std::stop_token stop = {});

}  // namespace happycity
