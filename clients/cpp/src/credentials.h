#pragma once

#include <grpcpp/security/credentials.h>

#include <memory>
#include <string_view>

#include "happycity/settings.h"

namespace happycity {

/// Returns whether the connection is by TLS.
bool is_encrypted(const Settings& settings);

/// Returns whether an address as gRPC takes it stays on this machine. Names are not looked up.
bool is_loopback(std::string_view server);

/// Reads the files of TLS. Throws SettingError if they are not what they should be, or if the token could be read
/// on its way.
std::shared_ptr<grpc::ChannelCredentials> credentials_of(const Settings& settings);

}  // namespace happycity
