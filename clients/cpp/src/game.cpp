#include "game.h"

#include <cstddef>
#include <exception>
#include <stdexcept>
#include <string_view>

namespace happycity {
namespace {

/// How many characters of a reason the server keeps.
constexpr int reason_length = 200;

/// Returns how many bytes the UTF-8 character takes with which a text begins; 0 if it begins with none.
std::size_t character_at(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t length = byte(0) < 0x80 ? 1 : byte(0) < 0xc2 ? 0 : byte(0) < 0xe0 ? 2 : byte(0) < 0xf0 ? 3 : 4;
  if (length > text.size() || byte(0) > 0xf4) {
    return 0;
  }
  for (std::size_t i = 1; i < length; i++) {
    if ((byte(i) & 0xc0) != 0x80) {
      return 0;
    }
  }
  // Longer than need be, half of a surrogate pair, or beyond the last character.
  const bool wrong = (byte(0) == 0xe0 && byte(1) < 0xa0) || (byte(0) == 0xed && byte(1) > 0x9f) ||
                     (byte(0) == 0xf0 && byte(1) < 0x90) || (byte(0) == 0xf4 && byte(1) > 0x8f);
  return wrong ? 0 : length;
}

}  // namespace

std::unique_ptr<Bot> make_bot(const Factory& factory, const GameStarted& start) {
  std::unique_ptr<Bot> bot = factory(start);
  if (bot == nullptr) {
    throw std::logic_error("the factory returned no bot");
  }
  return bot;
}

v1::Answer ask_bot(Bot& bot, const Decision& decision) {
  const std::size_t position = bot.choose(decision);
  const auto moves = static_cast<std::size_t>(decision.moves_size());
  if (position >= moves) {
    throw std::out_of_range("the bot chose move " + std::to_string(static_cast<std::ptrdiff_t>(position)) +
                            ", but they are 0 to " + std::to_string(moves - 1));
  }
  v1::Answer answer;
  answer.set_game_id(decision.game_id());
  answer.set_decision_id(decision.decision_id());
  answer.set_move(static_cast<std::uint32_t>(position));
  const auto notes = bot.notes();
  answer.mutable_metrics()->insert(notes.begin(), notes.end());
  return answer;
}

void tell_bot(Bot& bot, const GameOver& over) {
  if (over.has_result()) {
    bot.game_over(over);
  } else {
    bot.game_voided(over.void_reason());
  }
}

std::string what_was_thrown() {
  try {
    throw;
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "the bot threw something that is no std::exception";
  }
}

std::string readable(std::string_view text) {
  std::string reason;
  std::string_view rest = text;
  for (int characters = 0; characters < reason_length && !rest.empty(); characters++) {
    const std::size_t length = character_at(rest);
    reason += length == 0 ? "?" : rest.substr(0, length);
    rest.remove_prefix(length == 0 ? 1 : length);
  }
  return reason;
}

}  // namespace happycity
