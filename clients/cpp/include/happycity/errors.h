#pragma once

#include <grpcpp/support/status_code_enum.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace happycity {

/// A setting that can't be used. Its what() says which one, what is wrong, and what to do.
class SettingError : public std::runtime_error {
 public:
  SettingError(std::string setting, const std::string& text)
      : std::runtime_error(setting + ": " + text), setting_(std::move(setting)) {}

  /// The field of Settings, or the variable of the environment.
  const std::string& setting() const { return setting_; }

 private:
  std::string setting_;
};

/// Why a bot can't play, or plays no more: the server can't be reached, refused it, or went away for too long. Its
/// what() says what happened, and what to do.
class ConnectionError : public std::runtime_error {
 public:
  ConnectionError(grpc::StatusCode code, std::string reason, const std::string& text)
      : std::runtime_error(text), code_(code), reason_(std::move(reason)) {}

  /// The status code with which the server, or gRPC, ended the stream.
  grpc::StatusCode code() const { return code_; }
  /// The server's reason, as in the contract, such as "REPLACED"; empty if it gave none.
  const std::string& reason() const { return reason_; }

 private:
  grpc::StatusCode code_;
  std::string reason_;
};

}  // namespace happycity
