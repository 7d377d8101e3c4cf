#pragma once

#include <happycity/happycity.h>

#include <cstddef>

/// Takes the best immediate gain: income early, points late. All is in integers, and "first" always means in the
/// order of the moves.
///
///   - Market: for the colour of each market offered, counts the specials on the table whose condition asks for
///     that colour; the first market with the highest count.
///   - Discard: nothing.
///   - Draw: the highest deck whose cheapest card the own purse can pay; if there is none, the first move.
///   - Buy, special and Sphinx: the first move with the highest score, see City::score; a move about no card
///     scores 0.
///
/// It never looks at what effects do, at other cities (but to see which special the Sphinx would copy), at the
/// price of a card it can pay, or at randomness.
std::size_t greedy(const happycity::Decision& decision);
