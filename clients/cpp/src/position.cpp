#include "happycity/position.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <utility>

#include "happycity/happycity.h"

#ifdef HAPPYCITY_ENGINE
#include "happycity_engine.h"
#else
// The functions of happycity_engine.h, of which none can be called.
namespace {
enum { HAPPYCITY_POSITION_SIZE = 256, HAPPYCITY_MOVES = 8, HAPPYCITY_AWAITED = 37, HAPPYCITY_ROWS = 25 };
struct Absent {
  std::int32_t operator()(auto&&...) const {
    throw happycity::Error("this library was built without the native engine: install Rust, and build it again");
  }
} happycity_deal, happycity_sample, happycity_fast, happycity_legal_moves, happycity_apply, happycity_playouts,
    happycity_random_playout, happycity_quick_move, happycity_next_turn, happycity_outcome, happycity_score,
    happycity_opened, happycity_awaited, happycity_reveal;
}  // namespace
#endif

namespace happycity {
namespace {

using Bytes = std::vector<std::uint8_t>;

// Returns the result of a function of the engine, unless it is a refusal.
std::size_t accepted(std::int32_t result) {
  static const std::array refusals = {
      "not the bytes of a position or view", "no game can look like this",
      "a move that is not legal here, a card that is not awaited, or a wrong number",
      "a card is awaited: reveal it first"};
  if (result < 0) {
    throw std::invalid_argument(refusals.at(static_cast<std::size_t>(-1 - result)));
  }
  return static_cast<std::size_t>(result);
}

// Returns the bytes that a function writes, at most `most`, which gets the address for them last.
template <class... Arguments>
Bytes written(std::size_t most, const auto& function, Arguments... arguments) {
  Bytes bytes(most);
  bytes.resize(accepted(function(arguments..., bytes.data())));
  return bytes;
}

// Returns the rows that a function writes; nothing if there are none.
template <class... Arguments>
std::optional<Outcome> rows(const auto& function, Arguments... arguments) {
  std::array<std::int32_t, HAPPYCITY_ROWS> numbers;
  const std::size_t players = accepted(function(arguments..., numbers.data()));
  if (players == 0) {
    return std::nullopt;
  }
  const auto row = [&](std::size_t number) {
    const auto first = numbers.begin() + number * players;
    return std::vector<int>(first, first + players);
  };
  return Outcome{row(0), row(1), row(2), row(3), row(4)};
}

std::uint32_t size_of(std::span<const std::uint8_t> bytes) {
  return static_cast<std::uint32_t>(bytes.size());
}

Bytes message_of(const v1::View& view) {
  const std::string message = view.SerializeAsString();
  return Bytes(message.begin(), message.end());
}

}  // namespace

Position Position::deal(unsigned players, bool expert, bool sum, std::uint64_t seed) {
  return Position(written(HAPPYCITY_POSITION_SIZE, happycity_deal, players, expert, sum, seed));
}

Position Position::sample(const v1::View& view, std::uint64_t seed) {
  const Bytes message = message_of(view);
  return Position(written(HAPPYCITY_POSITION_SIZE, happycity_sample, message.data(), size_of(message), seed));
}

Position Position::from_bytes(std::span<const std::uint8_t> bytes) {
  Position position(Bytes(bytes.begin(), bytes.end()));
  position.legal_moves();  // refuses what is not a position
  return position;
}

std::vector<std::uint8_t> Position::legal_moves() const {
  return written(HAPPYCITY_MOVES, happycity_legal_moves, bytes_.data(), size_of(bytes_));
}

void Position::apply(unsigned move) {
  bytes_ = written(HAPPYCITY_POSITION_SIZE, happycity_apply, bytes_.data(), size_of(bytes_), move);
}

std::optional<Outcome> Position::outcome() const {
  return rows(happycity_outcome, bytes_.data(), size_of(bytes_));
}

Outcome Position::score() const {
  return rows(happycity_score, bytes_.data(), size_of(bytes_)).value();
}

double Position::playout(unsigned move, unsigned fast) const {
  const auto number = static_cast<std::uint8_t>(std::min(move, 255u));  // which no move has
  return playouts({&number, 1}, fast).front();
}

std::vector<double> Position::playouts(std::span<const std::uint8_t> moves, unsigned fast) const {
  std::vector<double> values(moves.size());
  accepted(happycity_playouts(bytes_.data(), size_of(bytes_), moves.data(), size_of(moves), fast, values.data()));
  return values;
}

Outcome Position::random_playout(std::uint64_t seed) const {
  return rows(happycity_random_playout, bytes_.data(), size_of(bytes_), seed).value();
}

std::optional<unsigned> Position::quick_move(unsigned fast) const {
  if (phase() == v1::PHASE_OVER) {
    return std::nullopt;
  }
  return static_cast<unsigned>(accepted(happycity_quick_move(bytes_.data(), size_of(bytes_), fast)));
}

Position Position::next_turn(unsigned move) const {
  return Position(written(HAPPYCITY_POSITION_SIZE, happycity_next_turn, bytes_.data(), size_of(bytes_), move));
}

Position Position::opened() const {
  return Position(written(HAPPYCITY_POSITION_SIZE, happycity_opened, bytes_.data(), size_of(bytes_)));
}

std::vector<std::uint8_t> Position::awaited() const {
  return written(HAPPYCITY_AWAITED, happycity_awaited, bytes_.data(), size_of(bytes_));
}

void Position::reveal(unsigned card) {
  bytes_ = written(HAPPYCITY_POSITION_SIZE, happycity_reveal, bytes_.data(), size_of(bytes_), card);
}

unsigned fast_builders(const v1::View& view) {
  const Bytes message = message_of(view);
  return static_cast<unsigned>(accepted(happycity_fast(message.data(), size_of(message))));
}

}  // namespace happycity
