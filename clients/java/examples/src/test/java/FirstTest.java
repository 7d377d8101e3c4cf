import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.happycity.Decision;
import dev.happycity.v1.Move;
import dev.happycity.v1.MoveKind;
import java.util.List;
import org.junit.jupiter.api.Test;

class FirstTest {
  private static final Move COIN = move(MoveKind.MOVE_KIND_COIN, 1);
  private static final Move DECLINE = move(MoveKind.MOVE_KIND_DECLINE, 0);
  private static final Move TAKE = move(MoveKind.MOVE_KIND_TAKE, 0);

  /** The dearest card is bought, the first one on a tie. */
  @Test
  void dearest() {
    assertEquals(2, choice(COIN, build(3), build(5), dwell(4), dwell(5)));
    assertEquals(3, choice(COIN, build(3), build(5), dwell(6)));
  }

  /** A special is taken, and without anything to buy the neutral move is played. */
  @Test
  void special() {
    assertEquals(1, choice(DECLINE, TAKE, TAKE));
    assertEquals(0, choice(COIN, COIN));
  }

  private static int choice(Move... moves) {
    return First.choose(
        Decision.of(dev.happycity.v1.Decision.newBuilder().addAllMoves(List.of(moves)).build()));
  }

  private static Move build(int price) {
    return move(MoveKind.MOVE_KIND_BUILD, -price);
  }

  private static Move dwell(int price) {
    return move(MoveKind.MOVE_KIND_DWELL, -price);
  }

  private static Move move(MoveKind kind, int coins) {
    return Move.newBuilder().setKind(kind).setCoins(coins).build();
  }
}
