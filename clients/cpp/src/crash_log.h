#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "happycity/settings.h"

namespace happycity {

/// Logs each kind of crash once in full, then only how often it came again. Two crashes are of one kind if their
/// reasons differ in numbers alone. Its user guards it.
class CrashLog {
 public:
  explicit CrashLog(Log log) : log_(std::move(log)) {}

  /// Logs a crash at a place of a match; `what` says what became of it.
  void add(std::string_view what, std::int64_t match_id, const std::string& place, const std::string& reason);

  /// Logs how often each kind came in all, where the last line doesn't say it.
  void close();

 private:
  struct Kind {
    std::int64_t first_match;
    std::string reason;
    long count = 1;
    long logged = 1;  // the count that the last line gives
  };

  const Log log_;
  std::map<std::string, Kind> kinds_;
};

}  // namespace happycity
