#pragma once

#include <array>
#include <span>
#include <string_view>

#include "happycity/v1/cards.pb.h"
#include "happycity/v1/catalogue_service.pb.h"

namespace happycity {

/// A card's printed values. What a card doesn't have is 0 or empty.
struct CardInfo {
  /// The card, by its number.
  v1::Card card = v1::CARD_UNSPECIFIED;
  /// The id in notation and records, such as "film_studios".
  std::string_view id = "";
  /// The name for people, in English.
  std::string_view name = "";
  /// What it is, which decides how it enters a city.
  v1::CardKind kind = v1::CARD_KIND_UNSPECIFIED;
  /// The deck that it is in, 1 to 3; 0 unless it is a building.
  int deck = 0;
  /// Its colour.
  v1::Colour colour = v1::COLOUR_UNSPECIFIED;
  /// Its price in coins.
  int cost = 0;
  /// Coins in each income phase.
  int income = 0;
  /// Inhabitants at the end.
  int inhabitants = 0;
  /// Hearts at the end.
  int hearts = 0;
  /// Copies in the box of the game.
  int copies = 0;
  /// For a special: how many cards a city must have, by colour.
  std::array<int, v1::Colour_MAX + 1> condition = {};
  /// For a special: the mode whose set it belongs to.
  v1::Mode special_set = v1::MODE_UNSPECIFIED;
  /// For a special: what it does beyond the values above, in words.
  std::string_view effect = "";
  /// For a special: how often its effect applies; 0 if there is no limit.
  int uses = 0;
};

/// Returns all cards, in the order of their numbers, which begin with 1.
std::span<const CardInfo> cards();

/// Returns the printed values of a card. Of a card that this version doesn't know, all are 0.
const CardInfo& info_of(v1::Card card);

}  // namespace happycity
