#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace happycity {

/// How much a line of the log matters.
enum class Level { info, warning, error };

/// Takes the lines of the log. It may be called by several threads at once.
using Log = std::function<void(Level, std::string_view)>;

/// Writes a line to the standard error, with the time in UTC.
void log_to_stderr(Level level, std::string_view text);

/// As Settings::games: the server decides how many games are played at once.
inline constexpr unsigned unlimited = 0;

/// What a bot says of itself. Texts are one line of at most 80 characters, the description of 200.
struct BotInfo {
  /// Who wrote it.
  std::string author = {};
  /// Its own version, not that of its SDK.
  std::string version = {};
  /// The programming language.
  std::string language = {};
  /// A line about it.
  std::string description = {};
};

/// Where and as whom a bot plays. What is left out comes from the environment, or has a default.
struct Settings {
  /// The bot's name, 1 to 64 letters, digits or any of "._-+"; HAPPYCITY_NAME, or the program's.
  std::string name = {};
  /// What the bot says of itself, for lists, standings and reports; its language is that of the compiler by default.
  BotInfo info = {};
  /// An address, host:port; HAPPYCITY_SERVER, or 127.0.0.1:50051.
  std::string server = {};
  /// The bot's token, for a server that needs one; HAPPYCITY_TOKEN.
  std::string token = {};
  /// Games at once at most, or unlimited; HAPPYCITY_GAMES, or 8.
  std::optional<unsigned> games = {};
  /// Threads on which bots choose, each one move at a time; 0 means as many as there are cores.
  unsigned thinkers = 0;

  /// Whether to encrypt the connection; HAPPYCITY_TLS (0 or 1). A CA or a certificate implies it.
  std::optional<bool> tls = {};
  /// A file of the certificates to trust, in PEM; HAPPYCITY_CA, or those of the system.
  std::string ca = {};
  /// A file of the bot's own certificate, in PEM, for servers that need one; HAPPYCITY_CERT.
  std::string cert = {};
  /// A file of that certificate's key, in PEM; HAPPYCITY_KEY.
  std::string key = {};
  /// Whether a token may travel unencrypted to another machine; HAPPYCITY_INSECURE (0 or 1).
  std::optional<bool> insecure = {};

  /// How long to wait for a server that isn't there yet; 0 fails at once.
  std::chrono::milliseconds wait{0};
  /// How long to try after a connection was lost; 0 never tries again.
  std::chrono::milliseconds reconnect = std::chrono::minutes(1);

  /// Where the log goes.
  Log log = log_to_stderr;

  /// Returns these settings with what is left out filled in, from the environment or by default. run(), play()
  /// and open_channel() do it themselves; this is for programs that want to see the result. Throws SettingError
  /// if a variable can't be used.
  Settings with_environment() const;
};

}  // namespace happycity
