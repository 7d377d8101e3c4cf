#include "crash_log.h"

#include <algorithm>
#include <cstddef>

namespace happycity {
namespace {

/// Kinds of crashes that are counted separately; all further ones count as one kind.
constexpr std::size_t most_kinds = 100;

/// Returns what the reasons of one kind have in common.
std::string kind_of(std::string reason) {
  std::erase_if(reason, [](char c) { return c >= '0' && c <= '9'; });
  return reason;
}

bool is_power_of_ten(long number) {
  while (number % 10 == 0) {
    number /= 10;
  }
  return number == 1;
}

}  // namespace

void CrashLog::add(std::string_view what, std::int64_t match_id, const std::string& place, const std::string& reason) {
  std::string key = std::string(what) + " " + kind_of(reason);
  std::string title = reason;
  if (!kinds_.contains(key) && kinds_.size() >= most_kinds) {
    key.clear();
    title = "various";
  }
  const auto [found, is_new] = kinds_.try_emplace(key, Kind{match_id, title});
  if (is_new) {
    log_(Level::error, place + ": " + std::string(what) + ": " + reason);
    return;
  }
  Kind& kind = found->second;
  kind.count++;
  if (is_power_of_ten(kind.count)) {
    kind.logged = kind.count;
    log_(Level::error, place + ": the same crash as in match " + std::to_string(kind.first_match) + " (" +
                           std::to_string(kind.count) + " so far): " + kind.reason);
  }
}

void CrashLog::close() {
  for (const auto& [key, kind] : kinds_) {
    if (kind.count > kind.logged) {
      log_(Level::error, "the same crash in " + std::to_string(kind.count) + " games, first in match " +
                             std::to_string(kind.first_match) + ": " + kind.reason);
    }
  }
  kinds_.clear();
}

}  // namespace happycity
