import dev.happycity.Bot;
import dev.happycity.Decision;
import dev.happycity.HappyCity;
import dev.happycity.v1.Card;
import dev.happycity.v1.Event;
import dev.happycity.v1.EventKind;
import dev.happycity.v1.GameOver;
import dev.happycity.v1.GameStarted;
import dev.happycity.v1.SeatResult;
import java.util.EnumSet;
import java.util.Random;
import java.util.Set;

/** Plays at random, and counts the cards that it sees. */
public class Counting implements Bot {
  private final int seat;
  private final Random random;
  private final Set<Card> seen = EnumSet.noneOf(Card.class);

  Counting(GameStarted started) {
    seat = started.getSeat();
    random = new Random(started.getSeed()); // a match that is played again goes the same way
  }

  @Override
  public int choose(Decision decision) {
    for (Event event : decision.message().getEventsList()) {
      if (event.getKind() == EventKind.EVENT_KIND_DRAW) {
        seen.add(event.getCard());
      }
    }
    return random.nextInt(decision.moves().size());
  }

  @Override
  public void gameOver(GameOver over) {
    SeatResult own = over.getOutcome().getResult().getSeats(seat);
    System.out.printf(
        "place %d with %d points; saw %d cards%n", own.getPlace(), own.getPoints(), seen.size());
  }

  public static void main(String[] args) {
    HappyCity.run(Counting::new);
  }
}
