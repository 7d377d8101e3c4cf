#pragma once

#include <happycity/happycity.h>

#include <span>

/// What greedy wants to know of a city, added up from the printed values.
class City {
 public:
  City(const happycity::v1::SeatState& state, happycity::v1::Scoring scoring);

  /// Returns what a card is worth to the city: early its income and symbols, late the points that it adds, then its
  /// symbols, then its income. A special with an effect is worth as much more as it asks for cards.
  int score(const happycity::CardInfo& card) const;

 private:
  int points_with(const happycity::CardInfo& card) const;

  bool is_early_;
  happycity::v1::Scoring scoring_;
  int inhabitants_ = 0;
  int hearts_ = 0;
};
