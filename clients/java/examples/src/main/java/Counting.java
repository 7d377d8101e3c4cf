import dev.happycity.Bot;
import dev.happycity.HappyCity;
import dev.happycity.v1.Card;
import dev.happycity.v1.Decision;
import dev.happycity.v1.Event;
import dev.happycity.v1.EventKind;
import dev.happycity.v1.GameOver;
import dev.happycity.v1.GameStarted;
import java.util.EnumSet;
import java.util.Random;
import java.util.Set;

/** Plays at random, and counts the cards that it sees. */
public class Counting implements Bot {
  private final int seat;
  private final Random random;
  private final Set<Card> seen = EnumSet.noneOf(Card.class);

  Counting(GameStarted start) {
    seat = start.getSeat();
    random = new Random(start.getSeed()); // a match that is played again goes the same way
  }

  @Override
  public int choose(Decision decision) {
    for (Event event : decision.getEventsList()) {
      if (event.getKind() == EventKind.EVENT_KIND_DRAW) {
        seen.add(event.getCard());
      }
    }
    return random.nextInt(decision.getMovesCount());
  }

  @Override
  public void gameOver(GameOver over) {
    int place = over.getResult().getPlaces(seat);
    int points = over.getResult().getOutcome().getPoints(seat);
    System.out.printf("place %d with %d points; saw %d cards%n", place, points, seen.size());
  }

  public static void main(String[] args) {
    HappyCity.run(Counting::new);
  }
}
