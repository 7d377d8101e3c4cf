#pragma once

#include <happycity/happycity.h>

#include <span>

/// The totals of a city, added up from the printed values.
class City {
 public:
  City(const happycity::v1::SeatState& state, happycity::v1::Scoring scoring);

  /// Returns what a card is worth to the city: early its income and symbols, late the points that it adds, then its
  /// symbols, then its income. A special with an effect is worth one more for each card that its condition asks for.
  int score(const happycity::CardInfo& card) const;

 private:
  int points_with(const happycity::CardInfo& card) const;

  bool is_early_;
  happycity::v1::Scoring scoring_;
  int inhabitants_ = 0;
  int hearts_ = 0;
};
