#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "happycity/bot.h"

namespace happycity {

/// A match and the number of a seat.
using SeatId = std::pair<std::int64_t, std::uint32_t>;

/// A bot in one seat of a match, and the state of the last decision that it was asked. Guarded by the mutex of Player.
struct Seat {
  explicit Seat(SeatId number) : id(number) {}

  const SeatId id;
  std::unique_ptr<Bot> bot;  // made by the first task; its methods are called by tasks only
  bool is_over = false;

  std::uint32_t asked = 0;             // the last decision that the bot was asked, or 0
  std::uint32_t round = 0;             // of the game at that decision
  std::shared_ptr<Decision> decision;  // that one, while the bot's answer is of use
  std::optional<v1::Answer> answer;    // to that one
  bool is_due = false;                 // whether the present connection's server waits for that answer

  std::deque<std::function<void()>> tasks;  // what the bot has to do next
  bool is_busy = false;                     // whether it does something
};

}  // namespace happycity
