#pragma once

#include <google/protobuf/duration.pb.h>
#include <grpcpp/support/status.h>

#include <chrono>
#include <optional>
#include <string>

#include "happycity/settings.h"

namespace happycity {

/// As many bytes as the server may send in one batch, which can hold any number of games.
inline constexpr int largest_message = 64 << 20;

/// How a stream or a call ended.
struct StreamStatus {
  grpc::StatusCode code = grpc::StatusCode::OK;
  /// The server's, as in the contract; empty if it gave none.
  std::string reason;
  /// One line for a person.
  std::string text;
  /// How long the server asks to wait before another attempt, if it says so.
  std::optional<std::chrono::milliseconds> retry_after;

  /// Reads gRPC's status.
  static StreamStatus of(const grpc::Status& status);

  /// Returns whether another attempt may succeed.
  bool is_retryable() const;

  /// Throws the error of a bot that the server refuses.
  [[noreturn]] void throw_refused(const Settings& settings) const;

  /// Throws the error of a bot that found no server, or lost it for good.
  [[noreturn]] void throw_lost(const Settings& settings) const;
};

/// Returns a time that a server named, but at least zero and at most an hour.
std::chrono::milliseconds bounded(const google::protobuf::Duration& time);

}  // namespace happycity
