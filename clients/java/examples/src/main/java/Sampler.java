import dev.happycity.BotFactory;
import dev.happycity.HappyCity;
import dev.happycity.SettingException;
import dev.happycity.Settings;
import dev.happycity.TellingBot;
import dev.happycity.Thought;
import dev.happycity.v1.Decision;
import dev.happycity.v1.Line;
import dev.happycity.v1.RollOut;
import dev.happycity.v1.RollOutRequest;
import dev.happycity.v1.SimulationServiceGrpc;
import dev.happycity.v1.SimulationServiceGrpc.SimulationServiceBlockingStub;
import io.grpc.Deadline;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Has the server play each of its moves out in many worlds that look like what it sees, and plays
 * the one after which it ends furthest ahead. It knows none of the rules.
 */
public class Sampler implements TellingBot {
  /**
   * Of each move. A standard error of a mean of 40 is some 5 points, but all moves are tried in the
   * same worlds, so their differences are known better than that.
   */
  private static final int PLAYOUTS = 40;

  /** Plays the seats in the playouts. */
  private static final String POLICY = "quick";

  /** They wait for the server, so they may be more than there are cores. */
  private static final int THINKERS = 8;

  /** Where there is no clock, the server is waited for no longer than that. */
  private static final int PATIENCE_MS = 60_000;

  private final SimulationServiceBlockingStub simulations;

  /**
   * Held by the game whose call it is: if all games asked at once for too much, each might be
   * refused again and again.
   */
  private final Lock turn = new ReentrantLock(true);

  Sampler(SimulationServiceBlockingStub simulations) {
    this.simulations = simulations;
  }

  /** Plays the move that ends best on average; if there are no simulations, the neutral one. */
  @Override
  public int choose(Decision decision, Thought thought) throws InterruptedException {
    List<RollOut> rollOuts;
    try {
      rollOuts = rollOut(decision);
    } catch (StatusRuntimeException e) {
      System.err.println("no simulations: " + e.getMessage());
      return 0;
    }
    if (rollOuts.size() != decision.getMovesCount()) {
      throw new IllegalStateException(
          "%d roll outs of %d moves".formatted(rollOuts.size(), decision.getMovesCount()));
    }
    List<Double> leads = rollOuts.stream().map(each -> lead(each, decision.getSeat())).toList();
    double most = Collections.max(leads);
    thought.note("playouts", PLAYOUTS);
    thought.note("lead", most);
    return leads.indexOf(most);
  }

  /** Asks for playouts of all moves, again if too many were asked for of late. */
  private List<RollOut> rollOut(Decision decision) throws InterruptedException {
    Line line =
        Line.newBuilder().setView(decision.getView()).setSeed(decision.getDecisionId()).build();
    RollOutRequest request =
        RollOutRequest.newBuilder()
            .addLines(line)
            .setPlayouts(PLAYOUTS)
            .setPolicy(POLICY)
            .setEachMove(true)
            .build();
    int timeLeft = decision.getClock().getTimeLeftMs();
    Deadline deadline = // the answer needs some of the time too
        Deadline.after(timeLeft > 0 ? timeLeft * 3L / 4 : PATIENCE_MS, TimeUnit.MILLISECONDS);
    if (!turn.tryLock(timeLeft(deadline), TimeUnit.MILLISECONDS)) {
      throw Status.DEADLINE_EXCEEDED.withDescription("other games wait").asRuntimeException();
    }
    try {
      while (true) {
        try {
          return simulations.withDeadline(deadline).rollOut(request).getRollOutsList();
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
  private static double lead(RollOut rollOut, int seat) {
    double most = 0;
    for (int other = 0; other < rollOut.getPointsMeanCount(); other++) {
      if (other != seat) {
        most = Math.max(most, rollOut.getPointsMean(other));
      }
    }
    return rollOut.getPointsMean(seat) - most;
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
