#include "greedy.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include "city.h"

using happycity::Card;
using happycity::Decision;
using happycity::info_of;
using happycity::Move;
using happycity::View;
namespace v1 = happycity::v1;

namespace {

/// The purse from which decks 1, 2 and 3 are drawn: the cheapest card of the deck.
constexpr std::array<unsigned, 3> deck_purse = {1, 4, 6};

/// Returns the position of the first move with the highest score.
template <class Score>
std::size_t best(const Decision& decision, Score score) {
  const auto& moves = decision.moves();
  return std::ranges::max_element(moves, {}, score) - moves.begin();
}

std::size_t richest_draw(const Decision& decision, unsigned coins) {
  for (int i = decision.moves_size() - 1; i > 0; i--) {
    if (deck_purse.at(decision.moves(i).draw().deck() - 1) <= coins) {
      return i;
    }
  }
  return 0;
}

std::size_t most_wanted_market(const Decision& decision) {
  const auto& specials = decision.view().specials();
  return best(decision, [&](const Move& move) {
    const v1::Colour colour = info_of(move.market().card()).colour;
    return std::ranges::count_if(
        specials, [&](int special) { return info_of(static_cast<Card>(special)).condition[colour] > 0; });
  });
}

/// Returns the special that the Sphinx would copy from another city; none for the one from the box.
Card copied(const v1::Copy& copy, const View& view) {
  if (!copy.box()) {
    for (const int card : view.seats(static_cast<int>(copy.seat())).city()) {
      if (info_of(static_cast<Card>(card)).kind == v1::CARD_KIND_SPECIAL) {
        return static_cast<Card>(card);
      }
    }
  }
  return v1::CARD_UNSPECIFIED;
}

/// Returns the card whose values a move brings to the own city, if it brings any.
Card gained(const Move& move, const View& view) {
  switch (move.kind_case()) {
    case Move::kBuild:
      return move.build().card();
    case Move::kDwell:
      return move.dwell().card();
    case Move::kTake:
      return move.take().card();
    case Move::kCopy:
      return copied(move.copy(), view);
    default:
      return v1::CARD_UNSPECIFIED;
  }
}

std::size_t best_card(const Decision& decision, const v1::SeatState& own) {
  const View& view = decision.view();
  const City city(own, view.config().scoring());
  return best(decision, [&](const Move& move) { return city.score(info_of(gained(move, view))); });
}

}  // namespace

std::size_t greedy(const Decision& decision) {
  const int seat = static_cast<int>(decision.seat());
  if (seat >= decision.view().seats_size()) {
    throw std::out_of_range("the view has no seat " + std::to_string(seat));
  }
  const v1::SeatState& own = decision.view().seats(seat);
  switch (decision.moves(0).kind_case()) {
    case Move::kKeep:
      return 0;
    case Move::kDraw:
      return richest_draw(decision, own.coins());
    case Move::kMarket:
      return most_wanted_market(decision);
    default:
      return best_card(decision, own);
  }
}
