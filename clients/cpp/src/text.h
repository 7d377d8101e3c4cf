#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace happycity {

/// Writes a line to the standard error, with the time in UTC. The level is INFO, WARNING or ERROR.
void log(const char* level, const std::string& text);

/// Returns a text as one line of at most 200 characters of UTF-8. Control characters become spaces, wrong bytes
/// question marks.
std::string one_line(std::string_view text);

/// Returns whether a text is UTF-8.
bool is_utf8(std::string_view text);

/// Names a place in a game before a text about it, such as "match 7, round 1, decision 3: ". What is 0 is left out.
std::string place(std::int64_t match_id, std::uint32_t round, std::uint32_t decision_id);

}  // namespace happycity
