#include "happycity/catalogue.h"

#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace happycity {
namespace {

/// Returns a card as the server sends it.
v1::CardInfo message_of(const CardInfo& info) {
  v1::CardInfo message;
  message.set_card(info.card);
  message.set_id(std::string(info.id));
  message.set_name(std::string(info.name));
  message.set_kind(info.kind);
  message.set_deck(info.deck);
  message.set_colour(info.colour);
  message.set_cost(info.cost);
  message.set_income(info.income);
  message.set_inhabitants(info.inhabitants);
  message.set_hearts(info.hearts);
  message.set_copies(info.copies);
  for (int colour = 0; colour < v1::Colour_ARRAYSIZE; colour++) {
    if (info.condition[colour] > 0) {
      v1::ColourCount& need = *message.add_condition();
      need.set_colour(static_cast<v1::Colour>(colour));
      need.set_count(info.condition[colour]);
    }
  }
  message.set_special_set(info.special_set);
  message.set_effect(std::string(info.effect));
  message.set_uses(info.uses);
  return message;
}

// The table holds what the server's catalogue does.
TEST(Catalogue, IsTheServers) {
  std::ifstream file(TESTDATA "/catalogue.json");
  const std::string json{std::istreambuf_iterator<char>(file), {}};
  v1::GetCatalogueResponse catalogue;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(json, &catalogue).ok());
  ASSERT_EQ(cards().size(), static_cast<std::size_t>(catalogue.cards_size()));
  for (const v1::CardInfo& card : catalogue.cards()) {
    EXPECT_EQ(message_of(info_of(card.card())).ShortDebugString(), card.ShortDebugString());
  }
}

// Cards are found by their numbers, and unknown ones are worth nothing.
TEST(Catalogue, FindsCards) {
  int number = 0;
  for (const CardInfo& card : cards()) {
    EXPECT_EQ(card.card, ++number);
    EXPECT_EQ(&info_of(card.card), &card);
  }
  for (const int unknown : {-1, 0, number + 1}) {
    const CardInfo& card = info_of(static_cast<v1::Card>(unknown));
    EXPECT_EQ(card.card, v1::CARD_UNSPECIFIED);
    EXPECT_EQ(card.cost, 0);
    EXPECT_TRUE(card.id.empty());
  }
}

}  // namespace
}  // namespace happycity
