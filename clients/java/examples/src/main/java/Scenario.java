import dev.happycity.Bot;
import dev.happycity.Decision;
import dev.happycity.HappyCity;
import dev.happycity.Settings;
import dev.happycity.v1.GameOver;
import dev.happycity.v1.GameStarted;
import dev.happycity.v1.VoidReason;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;

/** Does what the names of the other bots at its table say, for the tests of the SDK. */
public class Scenario implements Bot {
  private final Set<String> orders;

  Scenario(GameStarted started) {
    orders = new HashSet<>(started.getBotsList());
    fail("crash-start");
  }

  @Override
  public int choose(Decision decision) throws InterruptedException {
    fail("crash-choose");
    int last = decision.moves().size() - 1;
    if (orders.contains("illegal")) {
      return 99;
    }
    if (orders.contains("slow")) {
      Thread.sleep(2000);
    }
    if (orders.contains("note")) {
      decision.note("depth", 3);
      decision.note("nodes", 1200.5);
    }
    return orders.contains("first") ? 0 : last;
  }

  @Override
  public void gameOver(GameOver over) {
    System.out.println("over " + over.getMatchId());
    fail("crash-over");
  }

  @Override
  public void gameVoided(long matchId, VoidReason reason) {
    System.out.println("void " + matchId);
    fail("crash-over");
  }

  private void fail(String order) {
    if (orders.contains(order)) {
      throw new IllegalStateException("scenario");
    }
  }

  public static void main(String[] args) {
    Settings settings = new Settings();
    String reconnect = System.getenv().getOrDefault("HAPPYCITY_RECONNECT", "");
    if (!reconnect.isEmpty()) {
      settings.reconnect(Duration.ofMillis(Math.round(1000 * Double.parseDouble(reconnect))));
    }
    HappyCity.run(Scenario::new, settings);
  }
}
