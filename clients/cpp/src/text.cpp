#include "text.h"

#include <cstddef>
#include <utility>

namespace happycity {
namespace {

/// As many characters of a reason as a server keeps.
constexpr int longest = 200;

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

/// Returns whether a character, in bytes, is a space, the end of a line or another control character.
bool is_blank(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  return character.size() == 1 ? first <= ' ' || first == 0x7f
                               : first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0;
}

/// Removes the character with which a text begins, and returns it, or a question mark if it is no UTF-8.
std::string_view take_character(std::string_view& text) {
  const std::size_t length = character_at(text);
  const std::string_view character = length == 0 ? "?" : text.substr(0, length);
  text.remove_prefix(length == 0 ? 1 : length);
  return character;
}

}  // namespace

std::string valid_utf8(std::string_view text) {
  std::string valid;
  for (int characters = 0; characters < longest && !text.empty(); characters++) {
    valid += take_character(text);
  }
  return valid;
}

std::string one_line(std::string_view text) {
  std::string line;
  bool gap = false;
  for (text = text.substr(0, 16 * longest); !text.empty();) {
    const std::string_view character = take_character(text);
    if (is_blank(character)) {
      gap = !line.empty();
      continue;
    }
    line += std::exchange(gap, false) ? " " : "";
    line += character;
  }
  return valid_utf8(line);
}

std::string place(std::int64_t match_id, std::uint32_t round, std::uint32_t decision_id) {
  std::string text;
  const auto add = [&text](const char* name, std::int64_t number) {
    if (number != 0) {
      text += (text.empty() ? "" : ", ") + std::string(name) + " " + std::to_string(number);
    }
  };
  add("match", match_id);
  add("round", round);
  add("decision", decision_id);
  return text;
}

}  // namespace happycity
