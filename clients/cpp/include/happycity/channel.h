#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <optional>

#include "happycity/settings.h"

namespace happycity {

/// Prepares a connection to the other services of a server, such as its simulations: to the same address as the
/// bot's, with the same TLS, and with its token in each call. play() makes its own connections. Nothing is sent
/// before the first call, so a server that isn't there is no error yet. Throws SettingError if a setting makes no
/// sense.
std::shared_ptr<grpc::Channel> open_channel(const Settings& settings = {});

/// Tells how long a server wants to be left alone that refused a call as one too many; nothing if the call went
/// well or was refused for anything else.
std::optional<std::chrono::milliseconds> retry_after(const grpc::Status& status);

}  // namespace happycity
