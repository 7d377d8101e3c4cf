import dev.happycity.Bot;
import dev.happycity.BotFactory;
import dev.happycity.Decision;
import dev.happycity.HappyCity;
import dev.happycity.SettingException;
import dev.happycity.Settings;
import dev.happycity.v1.Line;
import dev.happycity.v1.PlayoutPolicy;
import dev.happycity.v1.RolloutRequest;
import dev.happycity.v1.RolloutResult;
import dev.happycity.v1.SimulationServiceGrpc;
import dev.happycity.v1.SimulationServiceGrpc.SimulationServiceBlockingStub;
import io.grpc.Deadline;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Has the server play each of its moves out in many sampled worlds, and plays the one after which
 * it ends furthest ahead. It knows none of the rules.
 */
public class Sampler implements Bot {
  /**
   * Playouts of each move. The standard error of a mean of 40 is some 5 points; the differences
   * between moves are more exact, as all moves are tried in the same worlds.
   */
  private static final int PLAYOUTS = 40;

  /** Decisions at once. They wait for the server, so they may be more than there are cores. */
  private static final int THINKERS = 8;

  /** How long a call may take for which the decision sets no limit. */
  private static final Duration PATIENCE = Duration.ofMinutes(1);

  private final SimulationServiceBlockingStub simulations;

  /** Held by the game that calls: if all called at once, each might be refused again and again. */
  private final Lock turn = new ReentrantLock(true);

  Sampler(SimulationServiceBlockingStub simulations) {
    this.simulations = simulations;
  }

  /** Plays the move that ends best on average; if there are no simulations, the neutral one. */
  @Override
  public int choose(Decision decision) throws InterruptedException {
    List<RolloutResult> results;
    try {
      results = rollout(decision);
    } catch (StatusRuntimeException e) {
      System.err.println("no simulations: " + e.getStatus().getCode());
      return 0;
    }
    int moves = decision.moves().size();
    if (results.size() != moves) {
      throw new IllegalStateException(
          "playouts of %d moves instead of %d".formatted(results.size(), moves));
    }
    List<Double> leads = results.stream().map(result -> lead(result, decision.seat())).toList();
    double most = Collections.max(leads);
    decision.note("playouts", PLAYOUTS);
    decision.note("lead", most);
    return leads.indexOf(most);
  }

  /** Asks for playouts of all moves, and again later if the server is asked too often. */
  private List<RolloutResult> rollout(Decision decision) throws InterruptedException {
    Line line = Line.newBuilder().setView(decision.view()).setSeed(decision.decisionId()).build();
    RolloutRequest request =
        RolloutRequest.newBuilder()
            .addLines(line)
            .setPlayouts(PLAYOUTS)
            .setPolicy(PlayoutPolicy.PLAYOUT_POLICY_QUICK)
            .setEachMove(true)
            .build();
    long time = decision.timeLeft().orElse(PATIENCE).toMillis();
    Deadline deadline = // the answer needs some of the time too
        Deadline.after(time * 3 / 4, TimeUnit.MILLISECONDS);
    if (!turn.tryLock(timeLeft(deadline), TimeUnit.MILLISECONDS)) {
      throw Status.DEADLINE_EXCEEDED.withDescription("other games wait").asRuntimeException();
    }
    try {
      while (true) {
        try {
          return simulations.withDeadline(deadline).rollout(request).getResultsList();
        } catch (StatusRuntimeException e) {
          long pause = HappyCity.retryAfter(e).orElseThrow(() -> e).toMillis();
          if (pause >= timeLeft(deadline)) {
            throw e;
          }
          Thread.sleep(pause);
        }
      }
    } finally {
      turn.unlock();
    }
  }

  private static long timeLeft(Deadline deadline) {
    return deadline.timeRemaining(TimeUnit.MILLISECONDS);
  }

  /** Returns by how much a seat's points exceed those of the best other one. */
  private static double lead(RolloutResult result, int seat) {
    double most = 0;
    for (int other = 0; other < result.getSeatsCount(); other++) {
      if (other != seat) {
        most = Math.max(most, result.getSeats(other).getPointsMean());
      }
    }
    return result.getSeats(seat).getPointsMean() - most;
  }

  public static void main(String[] args) {
    Settings.Builder settings = Settings.builder().thinkers(THINKERS);
    try {
      ManagedChannel channel = settings.build().channel();
      Sampler sampler = new Sampler(SimulationServiceGrpc.newBlockingStub(channel));
      HappyCity.run(BotFactory.stateless(sampler), settings);
      channel.shutdownNow();
    } catch (SettingException e) {
      System.err.println("error: " + e.getMessage());
      System.exit(2);
    }
  }
}
