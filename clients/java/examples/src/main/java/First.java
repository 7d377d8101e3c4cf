import dev.happycity.BotFactory;
import dev.happycity.HappyCity;
import dev.happycity.v1.Decision;
import dev.happycity.v1.Move;

public class First {
  /** Buys the dearest card there is, and takes any special. */
  static int choose(Decision decision) {
    int best = 0; // the neutral move is first: keep, the lowest deck, a coin, decline
    int most = 0;
    for (int i = 0; i < decision.getMovesCount(); i++) {
      int price = price(decision.getMoves(i));
      if (price > most) {
        best = i;
        most = price;
      }
    }
    return best;
  }

  static int price(Move move) {
    return switch (move.getKindCase()) {
      case BUILD -> move.getBuild().getPrice();
      case DWELL -> move.getDwell().getPrice();
      case TAKE -> 100;
      default -> 0;
    };
  }

  public static void main(String[] args) {
    HappyCity.run(BotFactory.stateless(First::choose));
  }
}
