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
/// program; play() is for programs that do other things too.
///
/// The messages are those of the contract, namespace happycity::v1, the most common under shorter names.
#pragma once

#include "happycity/bot.h"
#include "happycity/catalogue.h"
#include "happycity/decision.h"
#include "happycity/errors.h"
#include "happycity/play.h"
#include "happycity/settings.h"
