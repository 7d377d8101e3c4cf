package dev.happycity;

import static dev.happycity.Dialogue.decision;
import static dev.happycity.Dialogue.started;
import static dev.happycity.Within.within;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.happycity.v1.Answer;
import dev.happycity.v1.MatchResult;
import dev.happycity.v1.PlayResponse;
import dev.happycity.v1.Resign;
import dev.happycity.v1.SeatResult;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** One bot in several seats of a match. */
class SeatsTest {
  private final Peer peer = new Peer();

  @AfterEach
  void close() {
    peer.close();
  }

  /** Begins match 7 with the bot in seats 0 and 2. */
  private Dialogue start() throws InterruptedException {
    Dialogue dialogue = peer.welcome("one", false);
    dialogue.send(
        PlayResponse.newBuilder().addGamesStarted(started(7, 0)).addGamesStarted(started(7, 2)));
    return dialogue;
  }

  /** Each seat has a bot of its own, which is asked that seat's decisions. */
  @Test
  void botForEach() throws InterruptedException {
    peer.play(Counter.FACTORY);
    Dialogue dialogue = start();
    int[][] rounds = {{0, 1, 0}, {2, 2, 0}, {0, 4, 1}, {0, 5, 2}, {2, 6, 1}};
    for (int[] round : rounds) {
      dialogue.ask(decision(7, round[0], round[1]));
      assertEquals(List.of(answer(round[1], round[2])), dialogue.next().getAnswersList());
    }
  }

  /** A bot that crashes in one seat plays on in the other. Its hello names the match once. */
  @Test
  void crashInOne() throws InterruptedException {
    peer.play(
        started ->
            decision -> {
              if (started.getSeat() == 2) {
                throw new IllegalStateException("lost my notes");
              }
              return 1;
            });
    Dialogue dialogue = start();
    dialogue.ask(decision(7, 2, 1));
    List<Resign> resigns = dialogue.next().getResignsList();
    assertEquals(List.of(2), resigns.stream().map(Resign::getSeat).toList());
    dialogue.ask(decision(7, 0, 2));
    assertEquals(List.of(answer(2, 1)), dialogue.next().getAnswersList());
    dialogue.cut();
    dialogue = peer.welcome("two", true);
    assertEquals(List.of(7L), dialogue.hello.getMatchIdsList());
    assertEquals(resigns, dialogue.next().getResignsList());
  }

  /** The end of the match is the end in all of its seats. */
  @Test
  void oneEnd() throws InterruptedException {
    Listener listener = new Listener();
    peer.play(BotFactory.stateless(listener));
    Dialogue dialogue = start();
    SeatResult first = SeatResult.newBuilder().setPlace(1).build();
    MatchResult result = MatchResult.newBuilder().addSeats(first).build();
    dialogue.send(
        PlayResponse.newBuilder()
            .addGamesOver(dev.happycity.v1.GameOver.newBuilder().setMatchId(7).setResult(result)));
    for (int seat = 0; seat < 2; seat++) {
      assertEquals(new GameOver(7, List.of(first)), within(listener.overs, "gameOver"));
    }
    dialogue.cut();
    assertEquals(List.of(), peer.accept().hello.getMatchIdsList());
  }

  private static Answer answer(int decisionId, int move) {
    return Answer.newBuilder().setMatchId(7).setDecisionId(decisionId).setMove(move).build();
  }
}
