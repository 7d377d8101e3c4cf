#include <cstdio>

#include "happycity/settings.h"

namespace happycity {

void log_to_stderr(Level level, std::string_view text) {
  static constexpr const char* names[] = {"info", "warning", "error"};
  std::fprintf(stderr, "%s: %.*s\n", names[static_cast<int>(level)], static_cast<int>(text.size()), text.data());
}

}  // namespace happycity
