#pragma once

#include <grpcpp/security/credentials.h>

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "happycity/happycity.h"
#include "player.h"

namespace happycity {

/// What a session needs of the settings, with nothing left out.
struct Setup {
  /// The address as it is given.
  std::string url;
  /// The address without its scheme.
  std::string server;
  bool is_encrypted = false;
  /// Whether a proxy may be used: none is for this machine, or could read tokens.
  bool uses_proxy = false;
  std::shared_ptr<grpc::ChannelCredentials> credentials;
  std::string token;
  v1::Hello hello;
};

/// Fills in what settings leave out, from the environment or by default, and reads the files of TLS. Throws Error.
Setup setup_of(const Settings& settings);

/// How a session went.
struct SessionEnd {
  std::optional<Error> error;                            // nothing if it ended normally
  std::optional<std::chrono::milliseconds> retry_after;  // a pause before another attempt; nothing if that is pointless
  std::optional<v1::Welcome> welcome;                    // nothing if the server did not accept the bot
  int received = 0;                                      // messages of the server
  bool is_shutting_down = false;                         // whether the server said that it shuts down
};

/// Connects, says hello, and plays until the stream ends. When a stop is requested, it says goodbye first.
SessionEnd play_session(const Setup& setup, Player& player, const v1::Hello& hello, const std::stop_token& stop);

}  // namespace happycity
