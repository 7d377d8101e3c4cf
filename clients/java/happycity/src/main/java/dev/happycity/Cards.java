package dev.happycity;

import com.google.protobuf.util.JsonFormat;
import dev.happycity.v1.Card;
import dev.happycity.v1.CardInfo;
import dev.happycity.v1.GetCatalogueResponse;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** The printed values of all cards. */
public final class Cards {
  private static final List<CardInfo> ALL = read();

  private Cards() {}

  /** Returns all cards in the order of their numbers, which begin with 1. */
  public static List<CardInfo> all() {
    return ALL;
  }

  /** Returns the printed values of a card. Of one that this version doesn't know, all are 0. */
  public static CardInfo infoOf(Card card) {
    if (card == Card.CARD_UNSPECIFIED || card == Card.UNRECOGNIZED) {
      return CardInfo.getDefaultInstance();
    }
    return ALL.get(card.getNumber() - 1);
  }

  private static List<CardInfo> read() {
    GetCatalogueResponse.Builder catalogue = GetCatalogueResponse.newBuilder();
    try (Reader json =
        new InputStreamReader(
            Cards.class.getResourceAsStream("catalogue.json"), StandardCharsets.UTF_8)) {
      JsonFormat.parser().merge(json, catalogue);
    } catch (IOException e) {
      throw new UncheckedIOException("catalogue.json is damaged", e);
    }
    return List.copyOf(catalogue.getCardsList());
  }
}
