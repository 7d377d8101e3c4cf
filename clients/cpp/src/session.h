#pragma once

#include <exception>
#include <stop_token>

#include "happycity/bot.h"
#include "happycity/settings.h"

namespace happycity {

/// How play() ended.
struct Ending {
  /// What it throws; else null.
  std::exception_ptr error;
  /// Whether no bot thinks any more. Threads of those that do are left alone.
  bool is_quiet = true;
};

/// Does what play() does, and returns how it ended.
Ending play_to_the_end(Factory factory, const Settings& settings, const std::stop_token& stop);

}  // namespace happycity
