package dev.happycity;

import com.google.protobuf.util.JsonFormat;
import dev.happycity.v1.Card;
import dev.happycity.v1.CardInfo;
import dev.happycity.v1.Catalogue;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** The printed values of all cards. */
public final class Cards {
  private static final Catalogue CATALOGUE = read();

  private Cards() {}

  /** Returns all cards in the order of their numbers, which begin with 1. */
  public static List<CardInfo> all() {
    return CATALOGUE.getCardsList();
  }

  /** Returns the printed values of a card. Of one that this version doesn't know, all are 0. */
  public static CardInfo infoOf(Card card) {
    if (card == Card.CARD_UNSPECIFIED || card == Card.UNRECOGNIZED) {
      return CardInfo.getDefaultInstance();
    }
    return CATALOGUE.getCards(card.getNumber() - 1);
  }

  /** Returns what a server's welcome says if it has the same cards. */
  static String digest() {
    return CATALOGUE.getDigest();
  }

  private static Catalogue read() {
    Catalogue.Builder catalogue = Catalogue.newBuilder();
    try (Reader json =
        new InputStreamReader(
            Cards.class.getResourceAsStream("catalogue.json"), StandardCharsets.UTF_8)) {
      JsonFormat.parser().merge(json, catalogue);
    } catch (IOException e) {
      throw new UncheckedIOException("catalogue.json is damaged", e);
    }
    return catalogue.build();
  }
}
