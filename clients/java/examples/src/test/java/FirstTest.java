import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.happycity.v1.Build;
import dev.happycity.v1.Coin;
import dev.happycity.v1.Decision;
import dev.happycity.v1.Decline;
import dev.happycity.v1.Dwell;
import dev.happycity.v1.Move;
import dev.happycity.v1.Take;
import java.util.List;
import org.junit.jupiter.api.Test;

class FirstTest {
  private static final Move COIN = Move.newBuilder().setCoin(Coin.getDefaultInstance()).build();
  private static final Move DECLINE =
      Move.newBuilder().setDecline(Decline.getDefaultInstance()).build();
  private static final Move TAKE = Move.newBuilder().setTake(Take.getDefaultInstance()).build();

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
    return First.choose(Decision.newBuilder().addAllMoves(List.of(moves)).build());
  }

  private static Move build(int price) {
    return Move.newBuilder().setBuild(Build.newBuilder().setPrice(price)).build();
  }

  private static Move dwell(int price) {
    return Move.newBuilder().setDwell(Dwell.newBuilder().setPrice(price)).build();
  }
}
