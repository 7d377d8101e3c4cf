#include "happycity/bot.h"

#include <algorithm>
#include <utility>

#include "text.h"

namespace happycity {

Decision::Decision(v1::Decision message) : message_(std::move(message)) {
  if (const v1::Clock& clock = message_.clock(); clock.has_time_left_us()) {
    constexpr std::uint64_t ten_years = std::chrono::microseconds(std::chrono::years(10)).count();
    // Times that are longer could not be added.
    deadline_ = Clock::now() + std::chrono::microseconds(std::min(clock.time_left_us(), ten_years));
  }
}

std::optional<Decision::Clock::duration> Decision::time_left() const {
  if (!deadline_.has_value()) {
    return std::nullopt;
  }
  return std::max(Clock::duration::zero(), *deadline_ - Clock::now());
}

void Decision::note(std::string_view name, double number) const {
  const std::lock_guard lock(notes_mutex_);
  notes_[one_line(name)] = number;  // other bytes than UTF-8 would end the connection
}

std::map<std::string, double> Decision::notes() const {
  const std::lock_guard lock(notes_mutex_);
  return notes_;
}

}  // namespace happycity
