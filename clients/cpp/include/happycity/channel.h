#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <optional>

#include "happycity/settings.h"

namespace happycity {

/// Prepares a connection to the other services of a server, such as its simulations: to the same address as the
/// bot's, with the same TLS, and with its token in each call. play() makes its own connections. Nothing is sent
/// before the first call, so a server that isn't there is no error yet. Throws SettingError if a setting can't be
/// used.
std::shared_ptr<grpc::Channel> open_channel(const Settings& settings = {});

/// Returns how long the server asks to wait before a call that it refused is made again; nothing if it doesn't say so,
/// or if another attempt is pointless.
std::optional<std::chrono::milliseconds> retry_after(const grpc::Status& status);

}  // namespace happycity
