#include "text.h"

#include <array>
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <utility>

namespace happycity {
namespace {

/// As many characters of a text as a server keeps.
constexpr int longest = 200;

/// Returns the number of bytes of the UTF-8 character with which a text begins; 0 if it begins with none.
std::size_t character_at(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const auto follows = [&](std::size_t i, int least = 0x80, int most = 0xbf) {
    return i < text.size() && static_cast<unsigned char>(text[i]) >= least &&
           static_cast<unsigned char>(text[i]) <= most;
  };
  if (first < 0x80) {
    return 1;
  }
  if (first >= 0xc2 && first <= 0xdf) {
    return follows(1) ? 2 : 0;
  }
  if (first >= 0xe0 && first <= 0xef) {
    return follows(1, first == 0xe0 ? 0xa0 : 0x80, first == 0xed ? 0x9f : 0xbf) && follows(2) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    return follows(1, first == 0xf0 ? 0x90 : 0x80, first == 0xf4 ? 0x8f : 0xbf) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

/// Returns whether a character is a space or a control character.
bool is_blank(std::string_view character) {
  return character <= " " || character == "\x7f" || (character >= "\xc2\x80" && character < "\xc2\xa0");
}

}  // namespace

void log(const char* level, const std::string& text) {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, sizeof "2026-11-22T15:23:03Z"> time{};
  std::strftime(time.data(), time.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  std::fprintf(stderr, "%s %s %s\n", time.data(), level, text.c_str());
}

std::string one_line(std::string_view text) {
  std::string line;
  bool gap = false;
  for (int characters = 0; !text.empty() && characters < longest;) {
    const std::size_t length = character_at(text);
    const std::string_view character = length == 0 ? "?" : text.substr(0, length);
    text.remove_prefix(character.size());
    if (is_blank(character)) {
      gap = !line.empty();
      continue;
    }
    line += std::exchange(gap, false) ? " " : "";
    line += character;
    characters++;
  }
  return line;
}

std::string place(std::int64_t match_id, std::uint32_t round, std::uint32_t decision_id) {
  std::string text;
  const std::pair<const char*, std::int64_t> parts[] = {
      {"match", match_id}, {"round", round}, {"decision", decision_id}};
  for (const auto& [name, number] : parts) {
    if (number != 0) {
      text += (text.empty() ? "" : ", ") + std::string(name) + " " + std::to_string(number);
    }
  }
  return text;
}

}  // namespace happycity
