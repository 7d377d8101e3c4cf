import dev.happycity.Bot;
import dev.happycity.Decision;
import dev.happycity.HappyCity;
import dev.happycity.Settings;
import dev.happycity.v1.GameStarted;
import java.util.Random;

/** Plays any legal move, all equally likely. */
public class RandomBot implements Bot {
  /**
   * All randomness comes from the game's seed, so a match that is played again goes the same way.
   */
  private final Random random;

  RandomBot(GameStarted started) {
    random = new Random(started.getSeed());
  }

  @Override
  public int choose(Decision decision) {
    return random.nextInt(decision.moves().size());
  }

  public static void main(String[] args) {
    HappyCity.run(RandomBot::new, new Settings().games(0));
  }
}
