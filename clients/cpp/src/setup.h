#pragma once

#include <grpcpp/security/credentials.h>

#include <chrono>
#include <memory>
#include <string>

#include "happycity/settings.h"
#include "happycity/v1/play_service.pb.h"

namespace happycity {

/// Settings with nothing left out.
struct Setup {
  /// The address without its scheme, for messages.
  std::string server;
  /// The address as gRPC takes it.
  std::string target;
  bool is_encrypted = false;
  std::shared_ptr<grpc::ChannelCredentials> credentials;
  std::string token;
  v1::Hello hello;
  unsigned thinkers = 1;
  std::chrono::milliseconds wait{};
  std::chrono::milliseconds reconnect{};
};

/// Fills in what settings leave out, from the environment or by default, and reads the files of TLS. Throws Error.
Setup setup_of(const Settings& settings);

}  // namespace happycity
