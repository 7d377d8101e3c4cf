#include "text.h"

#include <cstdio>
#include <ctime>
#include <cwchar>
#include <limits>
#include <locale>
#include <utility>

namespace happycity {

void log(const char* level, const std::string& text) {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char time[sizeof "2026-11-22T15:23:03Z"];
  std::strftime(time, sizeof time, "%Y-%m-%dT%H:%M:%SZ", &utc);
  std::fprintf(stderr, "%s %s %s\n", time, level, text.c_str());
}

std::string one_line(std::string_view text) {
  constexpr int longest = 200;  // as a server keeps it
  const auto& utf8 = std::use_facet<std::codecvt<char32_t, char8_t, std::mbstate_t>>(std::locale::classic());
  const auto* next = reinterpret_cast<const char8_t*>(text.data());
  const auto* const end = next + text.size();
  std::string line;
  bool gap = false;
  for (int characters = 0; next != end && characters < longest;) {
    const auto* const begin = next;
    std::mbstate_t state{};
    char32_t character = 0;
    char32_t* decoded = nullptr;
    utf8.in(state, begin, end, next, &character, &character + 1, decoded);
    const bool is_wrong = decoded == &character || (character >= 0xd800 && character < 0xe000);  // surrogates
    if (is_wrong) {
      next = begin + 1;
    } else if (character <= U' ' || (character >= 0x7f && character < 0xa0)) {
      gap = !line.empty();
      continue;
    }
    line += std::exchange(gap, false) ? " " : "";
    line += is_wrong ? "?" : std::string(begin, next);
    characters++;
  }
  return line;
}

bool is_utf8(std::string_view text) {
  const auto& utf8 = std::use_facet<std::codecvt<char32_t, char8_t, std::mbstate_t>>(std::locale::classic());
  const auto* const begin = reinterpret_cast<const char8_t*>(text.data());
  std::mbstate_t state{};
  const auto most = static_cast<std::size_t>(std::numeric_limits<int>::max());
  return static_cast<std::size_t>(utf8.length(state, begin, begin + text.size(), most)) == text.size();
}

std::string place(std::int64_t match_id, std::uint32_t round, std::uint32_t decision_id) {
  const auto part = [](const char* name, auto number) { return number == 0 ? "" : name + std::to_string(number); };
  const std::string match = part("match ", match_id);
  return match.empty() ? "" : match + part(", round ", round) + part(", decision ", decision_id) + ": ";
}

}  // namespace happycity
