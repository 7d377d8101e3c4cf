import dev.happycity.Bot;
import dev.happycity.Decision;
import dev.happycity.HappyCity;
import dev.happycity.Position;
import dev.happycity.v1.GameStarted;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Searches with the native engine: plays moves out in sampled worlds, good ones most often.
 *
 * <p>Sequential halving: the playouts of a decision are shared among a few stages, and after each
 * the worse half of the moves is dropped. All moves are tried in the same worlds, so that luck
 * cancels out. The worlds' seeds count up from the game's, so {@code happycity ask} repeats each
 * choice.
 */
public class Searcher implements Bot {
  /** Playouts of all moves of a decision together, at most. */
  private static final int PLAYOUTS = 800;

  private final long seed;

  Searcher(GameStarted started) {
    seed = started.getSeed();
  }

  @Override
  public int choose(Decision decision) {
    double[] worth = new double[decision.moves().size()];
    List<Integer> alive = new ArrayList<>(IntStream.range(0, worth.length).boxed().toList());
    int stages = Integer.SIZE - Integer.numberOfLeadingZeros(worth.length - 1);
    long next = seed;
    for (int stage = 0; stage < stages; stage++) {
      int worlds = PLAYOUTS / (stages * alive.size());
      for (int world = 0; world < worlds; world++) {
        next++;
        tryMoves(decision.position(next), alive, worth);
      }
      alive.sort(Comparator.comparingDouble(move -> -worth[move]));
      alive.subList((alive.size() + 1) / 2, alive.size()).clear();
    }
    return alive.get(0);
  }

  /** Adds to each move's worth what it is worth in one more world. */
  private static void tryMoves(Position world, List<Integer> alive, double[] worth) {
    int[] legal = world.legalMoves();
    double[] values = world.playouts(alive.stream().mapToInt(move -> legal[move]).toArray(), 0);
    for (int i = 0; i < values.length; i++) {
      worth[alive.get(i)] += values[i];
    }
  }

  public static void main(String[] args) {
    HappyCity.run(Searcher::new);
  }
}
