package dev.happycity;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import dev.happycity.v1.Card;
import dev.happycity.v1.CardInfo;
import org.junit.jupiter.api.Test;

class CardsTest {
  /** The catalogue holds every card of the contract at its number. */
  @Test
  void holdsAll() {
    int known = Card.values().length - 2; // CARD_UNSPECIFIED and UNRECOGNIZED are no cards
    assertEquals(known, Cards.CATALOGUE.getCardsCount());
    for (int number = 1; number <= known; number++) {
      CardInfo info = Cards.infoOf(Card.forNumber(number));
      assertEquals(number, info.getCardValue());
      assertFalse(info.getId().isEmpty());
    }
  }

  /** Unknown cards are worth nothing. */
  @Test
  void unknown() {
    assertEquals(CardInfo.getDefaultInstance(), Cards.infoOf(Card.CARD_UNSPECIFIED));
    assertEquals(CardInfo.getDefaultInstance(), Cards.infoOf(Card.UNRECOGNIZED));
  }
}
