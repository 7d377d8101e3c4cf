import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import dev.happycity.Decision;
import dev.happycity.v1.GameStarted;
import dev.happycity.v1.Move;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class RandomBotTest {
  /** A game with the same seed is played alike, all moves occur, and another seed differs. */
  @Test
  void repeatable() {
    List<Integer> one = played(7);
    assertEquals(one, played(7));
    assertNotEquals(one, played(8));
    assertEquals(Set.of(0, 1, 2), Set.copyOf(one));
  }

  private static List<Integer> played(long seed) {
    RandomBot bot = new RandomBot(GameStarted.newBuilder().setSeed(seed).build());
    Decision decision =
        Decision.of(
            dev.happycity.v1.Decision.newBuilder()
                .addAllMoves(Collections.nCopies(3, Move.getDefaultInstance()))
                .build());
    return IntStream.range(0, 50).map(i -> bot.choose(decision)).boxed().toList();
  }
}
