#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace happycity {

/// Returns the first 200 characters of a text, with a question mark for each byte that is no UTF-8: gRPC reads no
/// message that holds such a byte.
std::string valid_utf8(std::string_view text);

/// Returns a text in one line of at most 200 characters, without control characters: fit for a terminal, wherever the
/// text came from.
std::string one_line(std::string_view text);

/// Names a place in a game, such as "match 7, round 1, decision 3", without what is 0.
std::string place(std::int64_t match_id, std::uint32_t round = 0, std::uint32_t decision_id = 0);

}  // namespace happycity
