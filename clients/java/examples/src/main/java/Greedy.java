import dev.happycity.BotFactory;
import dev.happycity.Cards;
import dev.happycity.Decision;
import dev.happycity.HappyCity;
import dev.happycity.Settings;
import dev.happycity.v1.Card;
import dev.happycity.v1.CardKind;
import dev.happycity.v1.Colour;
import dev.happycity.v1.ColourCount;
import dev.happycity.v1.Move;
import dev.happycity.v1.SeatState;
import dev.happycity.v1.View;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToIntFunction;

/**
 * Takes the best immediate gain: income early, points late. It decides as the reference bot of this
 * name does. All is in integers, and "first" always means in the order of the moves.
 *
 * <ul>
 *   <li>Market: for the colour of each market offered, count the specials on the table whose
 *       condition asks for that colour; the first market with the highest count.
 *   <li>Discard: nothing.
 *   <li>Draw: the highest deck whose cheapest card the own purse can pay; if there is none, the
 *       first move.
 *   <li>Buy, special and Sphinx: the first move with the highest score, see {@link City#score}; a
 *       move about no card scores 0.
 * </ul>
 *
 * <p>It never looks at what effects do, at other cities (but to see which special the Sphinx would
 * copy), at the price of a card it can pay, or at randomness.
 */
public class Greedy {
  /** The purse from which decks 1, 2 and 3 are drawn: the cheapest card of the deck. */
  private static final int[] DECK_PURSE = {1, 4, 6};

  private Greedy() {}

  public static void main(String[] args) {
    HappyCity.run(BotFactory.stateless(Greedy::choose), new Settings().games(0));
  }

  static int choose(Decision decision) {
    List<Move> moves = decision.moves();
    View view = decision.view();
    SeatState own = view.getSeats(view.getSeat());
    return switch (moves.get(0).getKind()) {
      case MOVE_KIND_KEEP -> 0;
      case MOVE_KIND_DRAW -> richestDraw(moves, own.getCoins());
      case MOVE_KIND_MARKET -> mostWantedMarket(moves, view.getSpecialsList());
      default -> bestCard(moves, view, own);
    };
  }

  private static int richestDraw(List<Move> moves, int coins) {
    for (int i = moves.size() - 1; i > 0; i--) {
      if (DECK_PURSE[moves.get(i).getDeck() - 1] <= coins) {
        return i;
      }
    }
    return 0;
  }

  private static int mostWantedMarket(List<Move> moves, List<Card> specials) {
    Map<Colour, Integer> wanted = new EnumMap<>(Colour.class);
    for (Card special : specials) {
      for (ColourCount need : Cards.infoOf(special).getConditionList()) {
        wanted.merge(need.getColour(), 1, Integer::sum);
      }
    }
    return best(moves, move -> wanted.getOrDefault(Cards.infoOf(move.getCard()).getColour(), 0));
  }

  private static int bestCard(List<Move> moves, View view, SeatState own) {
    City city = City.of(own, view.getConfig().getScoring());
    return best(moves, move -> city.score(gained(move, view)));
  }

  /** Returns the position of the first move with the highest score. */
  private static int best(List<Move> moves, ToIntFunction<Move> score) {
    int best = 0;
    int most = score.applyAsInt(moves.get(0));
    for (int i = 1; i < moves.size(); i++) {
      int next = score.applyAsInt(moves.get(i));
      if (next > most) {
        best = i;
        most = next;
      }
    }
    return best;
  }

  /** Returns the card whose values a move brings to the own city, if it brings any. */
  private static Card gained(Move move, View view) {
    return switch (move.getKind()) {
      case MOVE_KIND_BUILD, MOVE_KIND_DWELL, MOVE_KIND_TAKE -> move.getCard();
      case MOVE_KIND_COPY -> copied(move, view);
      default -> Card.CARD_UNSPECIFIED;
    };
  }

  /** Returns the special that the Sphinx would copy from another city; none for that of the box. */
  private static Card copied(Move copy, View view) {
    if (copy.hasSeat()) {
      for (Card card : view.getSeats(copy.getSeat()).getCityList()) {
        if (Cards.infoOf(card).getKind() == CardKind.CARD_KIND_SPECIAL) {
          return card;
        }
      }
    }
    return Card.CARD_UNSPECIFIED;
  }
}
