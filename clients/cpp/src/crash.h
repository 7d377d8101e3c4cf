#pragma once

#include <string>

namespace happycity {

/// Returns type and message of the exception that is being handled, in one line.
std::string crash_reason();

}  // namespace happycity
