import dev.happycity.BotFactory;
import dev.happycity.Decision;
import dev.happycity.HappyCity;
import dev.happycity.v1.Move;
import java.util.List;

public class First {
  /** Buys the most expensive card on offer, and takes any special. */
  static int choose(Decision decision) {
    List<Move> moves = decision.moves();
    int best = 0; // the neutral move is first: keep, the lowest deck, a coin, decline
    for (int i = 1; i < moves.size(); i++) {
      if (price(moves.get(i)) > price(moves.get(best))) {
        best = i;
      }
    }
    return best;
  }

  static int price(Move move) {
    return switch (move.getKind()) {
      case MOVE_KIND_BUILD, MOVE_KIND_DWELL -> -move.getCoins();
      case MOVE_KIND_TAKE -> 100;
      default -> 0;
    };
  }

  public static void main(String[] args) {
    HappyCity.run(BotFactory.stateless(First::choose));
  }
}
