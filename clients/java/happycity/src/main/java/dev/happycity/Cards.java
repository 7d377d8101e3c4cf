package dev.happycity;

import com.google.protobuf.util.JsonFormat;
import dev.happycity.v1.Card;
import dev.happycity.v1.CardInfo;
import dev.happycity.v1.Catalogue;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/** The printed values of all cards. */
public final class Cards {
  static final Catalogue CATALOGUE = read();

  private Cards() {}

  /** Returns the printed values of a card. Of one that this version doesn't know, all are 0. */
  public static CardInfo infoOf(Card card) {
    boolean known = card != Card.CARD_UNSPECIFIED && card != Card.UNRECOGNIZED;
    return known ? CATALOGUE.getCards(card.getNumber() - 1) : CardInfo.getDefaultInstance();
  }

  private static Catalogue read() {
    Catalogue.Builder catalogue = Catalogue.newBuilder();
    try (InputStream json = Cards.class.getResourceAsStream("catalogue.json")) {
      JsonFormat.parser().merge(new InputStreamReader(json, StandardCharsets.UTF_8), catalogue);
    } catch (IOException e) {
      throw new UncheckedIOException("catalogue.json is damaged", e);
    }
    return catalogue.build();
  }
}
