#include "city.h"

#include <algorithm>

using happycity::CardInfo;
namespace v1 = happycity::v1;

namespace {

/// A city with fewer cards than this one (the Happy Market counts) is early: it looks for income.
constexpr int early_cards = 5;

int asked_for(const CardInfo& card) {
  int cards = 0;
  for (const v1::ColourCount& need : card.condition()) {
    cards += static_cast<int>(need.count());
  }
  return cards;
}

}  // namespace

City::City(const v1::SeatState& state, v1::Scoring scoring)
    : is_early_(state.city_size() < early_cards), scoring_(scoring) {
  for (const int card : state.city()) {
    const CardInfo& info = happycity::info_of(static_cast<v1::Card>(card));
    inhabitants_ += info.inhabitants();
    hearts_ += info.hearts();
  }
}

int City::score(const CardInfo& card) const {
  const int symbols = card.inhabitants() + card.hearts();
  const int effect = card.effect().empty() ? 0 : asked_for(card);
  if (is_early_) {
    return 4 * card.income() + symbols + effect;
  }
  return 100 * (points_with(card) - points_with(CardInfo::default_instance())) + 10 * symbols + card.income() + effect;
}

/// Returns what the totals with a card make, each counting at least 0.
int City::points_with(const CardInfo& card) const {
  const int inhabitants = std::max(0, inhabitants_ + card.inhabitants());
  const int hearts = std::max(0, hearts_ + card.hearts());
  return scoring_ == v1::SCORING_SUM ? inhabitants + hearts : inhabitants * hearts;
}
