#include <chrono>
#include <cstdio>
#include <ctime>

#include "happycity/settings.h"

namespace happycity {

void log_to_stderr(Level level, std::string_view text) {
  static constexpr const char* names[] = {"INFO", "WARNING", "ERROR"};
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
#if defined(_WIN32)
  gmtime_s(&utc, &now);
#else
  gmtime_r(&now, &utc);
#endif
  char time[sizeof "2026-11-22T15:23:03Z"];
  std::strftime(time, sizeof time, "%Y-%m-%dT%H:%M:%SZ", &utc);
  std::fprintf(stderr, "%s %s %.*s\n", time, names[static_cast<int>(level)], static_cast<int>(text.size()),
               text.data());
}

}  // namespace happycity
