#include "happycity/position.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "cases.h"
#include "happycity/bot.h"

namespace happycity {
namespace {

using Bytes = std::vector<std::uint8_t>;
using google::protobuf::Value;

Bytes bytes_of(const Value& base64) {
  const std::string bytes = decoded(base64.string_value());
  return Bytes(bytes.begin(), bytes.end());
}

template <class Number>
std::vector<Number> numbers(const Value& list) {
  std::vector<Number> result;
  for (const Value& value : list.list_value().values()) {
    result.push_back(static_cast<Number>(value.number_value()));
  }
  return result;
}

Outcome outcome_of(const Value& rows) {
  const auto row = [&](int number) { return numbers<int>(rows.list_value().values(number)); };
  return {row(0), row(1), row(2), row(3), row(4)};
}

Bytes bytes_of(const Position& position) {
  return Bytes(position.bytes().begin(), position.bytes().end());
}

Decision decision_of(const Value& view) {
  v1::Decision message;
  EXPECT_TRUE(message.mutable_view()->ParseFromString(decoded(view.string_value())));
  return Decision(message);
}

// The engine does what it does in Python, from a decision to the end of the game.
TEST(Position, LikeInPython) {
  for (const auto& line : cases_of("positions.jsonl")) {
    const auto at = [&](const char* name) { return line.fields().at(name); };
    const std::uint64_t seed = std::stoull(at("seed").string_value());
    const Decision decision = decision_of(at("view"));
    const Position position = decision.position(seed);
    EXPECT_EQ(bytes_of(position), bytes_of(at("position")));
    EXPECT_EQ(bytes_of(Position::from_bytes(position.bytes())), bytes_of(position));
    EXPECT_EQ(position.round(), static_cast<int>(decision.view().round()));
    EXPECT_EQ(position.seat(), decision.seat());
    EXPECT_EQ(position.phase(), decision.view().phase());

    const unsigned fast = fast_builders(decision.view());
    EXPECT_EQ(fast, at("fast").number_value());
    const Bytes moves = position.legal_moves();
    EXPECT_EQ(moves, numbers<std::uint8_t>(at("legal_moves")));
    EXPECT_EQ(position.playouts(moves), numbers<double>(at("playouts")));
    EXPECT_EQ(position.playouts(moves, fast), numbers<double>(at("fast_playouts")));
    EXPECT_EQ(position.playout(moves.back(), fast), numbers<double>(at("fast_playouts")).back());
    EXPECT_EQ(position.quick_move(), at("quick_move").number_value());
    EXPECT_EQ(position.score(), outcome_of(at("score")));
    EXPECT_EQ(position.random_playout(seed), outcome_of(at("random_playout")));
    EXPECT_EQ(bytes_of(position.opened()), bytes_of(at("opened")));
    EXPECT_EQ(bytes_of(position.next_turn(moves.back())), bytes_of(at("next_turn")));
    EXPECT_EQ(position.outcome(), std::nullopt);

    Position next = position;
    next.apply(moves.back());
    EXPECT_EQ(bytes_of(next), bytes_of(at("next")));
    EXPECT_EQ(bytes_of(position), bytes_of(at("position"))) << "a copy is independent";

    Position end = position;
    for (const unsigned move : numbers<unsigned>(at("random_moves"))) {
      end.apply(move);
    }
    EXPECT_EQ(bytes_of(end), bytes_of(at("end")));
    EXPECT_EQ(end.outcome(), outcome_of(at("outcome")));
    EXPECT_EQ(end.quick_move(), std::nullopt);

    Position awaiting = Position::from_bytes(bytes_of(at("awaiting")));
    EXPECT_EQ(awaiting.awaited(), numbers<std::uint8_t>(at("awaited")));
    EXPECT_THROW(awaiting.random_playout(1), std::invalid_argument);
    awaiting.reveal(awaiting.awaited().back());
    EXPECT_EQ(bytes_of(awaiting), bytes_of(at("revealed")));

    const auto deal = numbers<unsigned>(at("deal"));
    EXPECT_EQ(bytes_of(Position::deal(deal[0], deal[1] == 1, deal[2] == 1, seed)), bytes_of(at("dealt")));
  }
}

// What is refused changes nothing.
TEST(Position, Refusals) {
  const auto line = cases_of("positions.jsonl").front().fields();
  const Decision decision = decision_of(line.at("view"));
  Position position = decision.position(1);
  const Bytes before = bytes_of(position);
  for (const unsigned move : {91u, 256u, 1000u}) {
    EXPECT_THROW(position.apply(move), std::invalid_argument);
    EXPECT_THROW(position.playout(move), std::invalid_argument);
    EXPECT_THROW(position.reveal(move), std::invalid_argument);
  }
  EXPECT_EQ(bytes_of(position), before);
  EXPECT_THROW(position.playouts(Bytes(9)), std::invalid_argument);
  EXPECT_THROW(Position::from_bytes({}), std::invalid_argument);
  EXPECT_THROW(Position::from_bytes(position.bytes().subspan(1)), std::invalid_argument);
  EXPECT_THROW(Position::deal(6, false, false, 1), std::invalid_argument);
  EXPECT_THROW(Position::sample(v1::View(), 1), std::invalid_argument);
  EXPECT_NO_THROW(Position::sample(decision.view(), 1));
  const Bytes discarded = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  EXPECT_THROW(Position::sample(decision.view(), 1, discarded), std::invalid_argument);
}

}  // namespace
}  // namespace happycity
