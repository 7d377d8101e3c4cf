#pragma once

#include <grpcpp/support/status.h>

#include <chrono>
#include <exception>
#include <map>
#include <string>

#include "happycity/settings.h"

namespace happycity {

/// As many bytes as the server may send: any number of games can be in one batch.
inline constexpr int largest_message = 64 << 20;

/// How a stream ended.
struct Parting {
  grpc::StatusCode code = grpc::StatusCode::OK;
  /// The server's, as in the protocol; empty if it gave none.
  std::string reason;
  /// One line for a person.
  std::string text;
  std::map<std::string, std::string> metadata;
  /// How long the server wants to be left alone.
  std::chrono::milliseconds retry_after{0};
  /// What this side found wrong with the server; else null.
  std::exception_ptr unusable;

  /// Reads a stream's status.
  static Parting of(const grpc::Status& status);

  /// Tells whether another attempt may go well.
  bool is_passing() const;

  /// Throws the error of a bot that the server won't have.
  [[noreturn]] void throw_refused(const Settings& settings) const;

  /// Throws the error of a bot that found no server, or lost it for good.
  [[noreturn]] void throw_lost(const Settings& settings) const;
};

}  // namespace happycity
