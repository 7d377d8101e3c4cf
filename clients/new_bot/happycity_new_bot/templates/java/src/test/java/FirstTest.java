import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.happycity.BotFactory;
import dev.happycity.RecordedDecision;
import dev.happycity.v1.Card;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class FirstTest {
  @Test
  void buildsTheMostExpensiveCard() throws Exception {
    RecordedDecision recorded = RecordedDecision.read(Path.of("first.decision"));
    assertEquals(Card.CARD_SPA, recorded.ask(BotFactory.stateless(First::choose)).getCard());
  }
}
