#pragma once

#include "happycity/v1/catalogue_service.pb.h"

namespace happycity {

/// A card, by its number.
using Card = v1::Card;
/// A card's printed values.
using CardInfo = v1::CardInfo;

/// Returns all cards, in the order of their numbers, which begin with 1, and a digest of them.
const v1::Catalogue& catalogue();

/// Returns the printed values of a card. Of a card that this version doesn't know, all are 0 or empty.
const CardInfo& info_of(Card card);

}  // namespace happycity
