#include "happycity/decision.h"

#include <algorithm>
#include <utility>

#include "text.h"

namespace happycity {
namespace {

constexpr auto no_deadline = Decision::Clock::time_point::max();

/// Returns a time of a clock, if the clock has it; at most ten years, which can be added to a time point.
std::optional<Decision::Clock::duration> time_of(bool has, std::uint64_t microseconds) {
  constexpr std::uint64_t ten_years = std::chrono::microseconds(std::chrono::years(10)).count();
  return has ? std::optional(std::chrono::microseconds(std::min(microseconds, ten_years))) : std::nullopt;
}

Decision::Clock::time_point deadline_of(const v1::Clock& clock) {
  const auto left = time_of(clock.has_time_left_us(), clock.time_left_us());
  return left.has_value() ? Decision::Clock::now() + *left : no_deadline;
}

}  // namespace

Decision::Decision(v1::Decision message) : message_(std::move(message)), deadline_(deadline_of(message_.clock())) {}

std::optional<Decision::Clock::duration> Decision::time_left() const {
  if (deadline_ == no_deadline) {
    return std::nullopt;
  }
  return std::max(Clock::duration::zero(), deadline_ - Clock::now());
}

std::optional<Decision::Clock::duration> Decision::bank_left() const {
  return time_of(message_.clock().has_bank_left_us(), message_.clock().bank_left_us());
}

std::optional<Decision::Clock::duration> Decision::last_think() const {
  return time_of(message_.clock().has_last_think_us(), message_.clock().last_think_us());
}

std::optional<Decision::Clock::duration> Decision::round_trip() const {
  return time_of(message_.clock().has_round_trip_us(), message_.clock().round_trip_us());
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
