#include "happycity/position.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <utility>

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

Bytes bytes_of(const Position& position) {
  return Bytes(position.bytes().begin(), position.bytes().end());
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

v1::View view_of(const Value& base64) {
  v1::View view;
  EXPECT_TRUE(view.ParseFromString(decoded(base64.string_value())));
  return view;
}

// Reads what a line has of a call: nothing of one that is refused.
template <class Read>
auto unless_null(const Value& value, const Read& read) {
  return value.has_null_value() ? std::nullopt : std::optional(read(value));
}

template <class Call>
auto unless_refused(const Call& call) -> std::optional<decltype(call())> {
  try {
    return call();
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
}

Position next_of(Position position) {
  const Bytes awaited = position.awaited();
  const Bytes moves = position.legal_moves();
  if (awaited.empty()) {
    position.apply(moves.empty() ? 0 : moves.front());
  } else {
    position.reveal(awaited.front());
  }
  return position;
}

// A line of engine.jsonl, which tools/engine/engine_cases.py describes.
class Case {
 public:
  explicit Case(google::protobuf::Struct line) : line_(std::move(line)) {}

  const Value& at(const char* name) const { return line_.fields().at(name); }
  std::uint64_t seed(const char* name = "seed") const { return std::stoull(at(name).string_value()); }
  bool has(const char* name) const { return !at(name).has_null_value(); }

  // Returns the position that the moves lead to from the deal.
  Position dealt() const {
    const auto deal = numbers<unsigned>(at("deal"));
    Position position = Position::deal(deal[0], deal[1] == 1, deal[2] == 1, seed("deal_seed"));
    for (const unsigned move : numbers<unsigned>(at("moves"))) {
      position.apply(move);
    }
    return position;
  }

 private:
  google::protobuf::Struct line_;
};

std::vector<Case> engine_cases() {
  const char* given = std::getenv("HAPPYCITY_ENGINE_CASES");
  auto lines = given ? cases_in(given) : cases_of("engine.jsonl");
  return {std::make_move_iterator(lines.begin()), std::make_move_iterator(lines.end())};
}

Case case_with_view() {
  const auto cases = engine_cases();
  return *std::find_if(cases.begin(), cases.end(), [](const Case& each) { return each.has("view"); });
}

// Every position is reached and played on as by the native engine.
TEST(Position, LikeTheCrate) {
  const auto cases = engine_cases();
  EXPECT_GE(cases.size(), 100u);
  for (const Case& each : cases) {
    const auto bytes = [](const Value& value) { return bytes_of(value); };
    const Position position = Position::from_bytes(bytes_of(each.at("position")));
    EXPECT_EQ(bytes_of(position), bytes_of(each.at("position")));
    const auto fast = static_cast<unsigned>(each.at("fast").number_value());
    const std::uint64_t seed = each.seed();
    const Bytes moves = position.legal_moves();
    const unsigned first = moves.empty() ? 0 : moves.front();
    EXPECT_EQ(moves, numbers<std::uint8_t>(each.at("legal_moves")));
    EXPECT_EQ(position.outcome(), unless_null(each.at("outcome"), outcome_of));
    EXPECT_EQ(position.score(), outcome_of(each.at("score")));
    EXPECT_EQ(unless_refused([&] { return position.quick_move(fast); }).value_or(std::nullopt),
              unless_null(each.at("quick_move"), [](const Value& value) { return unsigned(value.number_value()); }));
    EXPECT_EQ(unless_refused([&] { return position.playouts(moves, fast); }),
              unless_null(each.at("playouts"), numbers<double>));
    EXPECT_EQ(unless_refused([&] { return position.random_playout(seed); }),
              unless_null(each.at("random_playout"), outcome_of));
    EXPECT_EQ(unless_refused([&] { return bytes_of(position.next_turn(first)); }),
              unless_null(each.at("next_turn"), bytes));
    EXPECT_EQ(position.awaited(), numbers<std::uint8_t>(each.at("awaited")));
    EXPECT_EQ(bytes_of(position.opened()), bytes_of(each.at("opened")));
    EXPECT_EQ(unless_refused([&] { return bytes_of(next_of(position)); }), unless_null(each.at("next"), bytes));
    EXPECT_EQ(bytes_of(position), bytes_of(each.at("position"))) << "a copy is independent";
    if (each.has("view")) {
      const v1::View view = view_of(each.at("view"));
      EXPECT_EQ(fast_builders(view), each.at("fast_builders").number_value());
      EXPECT_EQ(bytes_of(Position::sample(view, seed)), bytes_of(each.at("sample")));
    }
    if (each.has("deal")) {
      EXPECT_EQ(bytes_of(each.dealt()), bytes_of(each.at("position")));
    }
  }
}

// Worlds of a decision have its moves and look like its view.
TEST(Position, OfADecision) {
  const Decision decision(read_decision(TESTDATA "/first.decision").second);
  const Position position = decision.position(7);
  EXPECT_EQ(bytes_of(position), bytes_of(Position::sample(decision.view(), 7)));
  EXPECT_EQ(position.legal_moves().size(), decision.moves().size());
  EXPECT_EQ(position.round(), static_cast<int>(decision.view().round()));
  EXPECT_EQ(position.seat(), decision.seat());
  EXPECT_EQ(position.phase(), decision.view().phase());
  const Bytes moves = position.legal_moves();
  EXPECT_EQ(position.playout(moves.back()), position.playouts(moves).back());
}

// What `python -m tools sdk-speed` measures: the playouts or calls, and the number of times, that it names.
TEST(Position, DISABLED_Speed) {
  std::istringstream given(std::getenv("HAPPYCITY_ENGINE_SPEED"));
  std::string what;
  int times = 0;
  given >> what >> times;
  const Position world = Decision(read_decision(TESTDATA "/first.decision").second).position(1);
  const Bytes moves = world.legal_moves();
  for (int i = 0; i < times; i++) {
    if (what == "playouts") {
      EXPECT_EQ(world.playouts(moves).size(), moves.size());
    } else {
      Position next = world;
      next.apply(moves.front());
    }
  }
}

// What is refused changes nothing.
TEST(Position, Refusals) {
  const v1::View view = view_of(case_with_view().at("view"));
  Position position = Position::sample(view, 1);
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
  EXPECT_NO_THROW(Position::sample(view, 1));
}

}  // namespace
}  // namespace happycity
