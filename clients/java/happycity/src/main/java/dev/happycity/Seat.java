package dev.happycity;

import dev.happycity.v1.Answer;
import dev.happycity.v1.GameStarted;
import dev.happycity.v1.VoidReason;
import java.util.concurrent.Executor;

/**
 * A bot in one seat of a match, and the state of the last decision that it was asked. All but the
 * bot is guarded by the {@link Player}.
 */
final class Seat {
  /** A match and the number of a seat. */
  record Id(long matchId, int seat) {}

  final Id id;
  final TaskQueue tasks;
  boolean over;
  int asked; // the last decision that the bot was asked, or 0
  int round; // of the game at that decision
  Decision decision; // that one, while the bot's answer is of use; else null
  Answer answer; // to that one; null if there is none
  boolean answerDue; // whether the present connection's server waits for that answer

  private Bot bot; // made by the first task, and used by tasks only

  Seat(Id id, Executor thinkers) {
    this.id = id;
    this.tasks = new TaskQueue(thinkers);
  }

  /** Returns where the game is, as far as the bot knows. */
  String place() {
    return Place.of(id.matchId(), round, asked);
  }

  /** Has the author's code make the bot. */
  void makeBot(BotFactory factory, GameStarted started) throws Exception {
    bot = factory.newBot(started);
    if (bot == null) {
      throw new IllegalStateException("the factory returned no bot");
    }
  }

  boolean hasBot() {
    return bot != null;
  }

  /** Has the bot choose, and checks that there is such a move. */
  Answer choose(Decision decision) throws Exception {
    int position = bot.choose(decision);
    if (position < 0 || position >= decision.moves().size()) {
      throw new IllegalArgumentException(
          "the bot chose move %d, and there are %d".formatted(position, decision.moves().size()));
    }
    return Answer.newBuilder()
        .setMatchId(decision.matchId())
        .setDecisionId(decision.decisionId())
        .setMove(position)
        .putAllMetrics(decision.notes())
        .build();
  }

  /** Lets the bot take note of how its game ended. */
  void end(dev.happycity.v1.GameOver over) {
    if (over.hasResult()) {
      bot.gameOver(new GameOver(over.getMatchId(), over.getResult().getSeatsList()));
      return;
    }
    VoidReason reason =
        switch (over.getVoidReason()) {
          case VOID_REASON_UNSPECIFIED, UNRECOGNIZED -> VoidReason.VOID_REASON_UNKNOWN;
          default -> over.getVoidReason();
        };
    bot.gameVoided(over.getMatchId(), reason);
  }
}
