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
  for (int i = decision.moves().size() - 1; i > 0; i--) {
    if (deck_purse.at(decision.moves().at(i).deck() - 1) <= coins) {
      return i;
    }
  }
  return 0;
}

std::size_t most_wanted_market(const Decision& decision) {
  const auto& specials = decision.view().specials();
  return best(decision, [&](const Move& move) {
    const v1::Colour colour = info_of(move.card()).colour();
    return std::ranges::count_if(specials, [&](int special) {
      const auto& condition = info_of(static_cast<Card>(special)).condition();
      return std::ranges::count(condition, colour, &v1::ColourCount::colour) > 0;
    });
  });
}

/// Returns the special that the Sphinx would copy from another city; none for the one from the box.
Card copied(const Move& copy, const View& view) {
  if (copy.has_seat()) {
    for (const int card : view.seats(static_cast<int>(copy.seat())).city()) {
      if (info_of(static_cast<Card>(card)).kind() == v1::CARD_KIND_SPECIAL) {
        return static_cast<Card>(card);
      }
    }
  }
  return v1::CARD_UNSPECIFIED;
}

/// Returns the card whose values a move brings to the own city, if it brings any.
Card gained(const Move& move, const View& view) {
  switch (move.kind()) {
    case v1::MOVE_KIND_BUILD:
    case v1::MOVE_KIND_DWELL:
    case v1::MOVE_KIND_TAKE:
      return move.card();
    case v1::MOVE_KIND_COPY:
      return copied(move, view);
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
  if (decision.seat() >= decision.view().seats_size()) {
    throw std::out_of_range("the view has no seat " + std::to_string(decision.seat()));
  }
  const v1::SeatState& own = decision.view().seats(decision.seat());
  switch (decision.moves().at(0).kind()) {
    case v1::MOVE_KIND_KEEP:
      return 0;
    case v1::MOVE_KIND_DRAW:
      return richest_draw(decision, own.coins());
    case v1::MOVE_KIND_MARKET:
      return most_wanted_market(decision);
    default:
      return best_card(decision, own);
  }
}
