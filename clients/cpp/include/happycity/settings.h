#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace happycity {

/// As Settings::games: the server decides how many games are played at once.
inline constexpr unsigned unlimited = 0;

/// What a bot says of itself. Texts are one line of at most 80 characters, the description of 200.
struct BotInfo {
  /// Who wrote it.
  std::string author = {};
  /// Its own version, not that of its SDK.
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
  /// Maximum number of games at once, or unlimited; HAPPYCITY_GAMES, or 8.
  std::optional<unsigned> games = {};
  /// Number of threads on which bots choose; 0 means as many as there are cores.
  unsigned thinkers = 0;
  /// How long to wait for a server that isn't there yet; 0 fails at once.
  std::chrono::milliseconds wait{0};
  /// How long to look for a server that was lost; 0 never tries again.
  std::chrono::milliseconds reconnect = std::chrono::minutes(1);
};

}  // namespace happycity
