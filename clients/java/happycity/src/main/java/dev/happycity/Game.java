package dev.happycity;

import dev.happycity.v1.Answer;
import dev.happycity.v1.Decision;
import dev.happycity.v1.GameOver;
import dev.happycity.v1.GameStarted;
import java.util.concurrent.Executor;

/**
 * A bot at one table, and what is known of the decision that it was asked last. All but the bot is
 * guarded by the {@link Games}.
 */
final class Game {
  private static final int NO_MOVE = -1;

  final long id;
  final Chores chores;
  boolean over;
  boolean wanted; // whether the present connection's server waits for the answer
  int asked; // the decision that the bot was asked last, or 0
  Thought thought; // about that decision; null if it is done, or its time is up
  private int move = NO_MOVE; // the answer to that decision

  private Bot bot; // made by the first chore, and touched by chores only

  Game(long id, Executor thinkers) {
    this.id = id;
    this.chores = new Chores(thinkers);
  }

  void ask(Thought thought) {
    asked = thought.decision.getDecisionId();
    this.thought = thought;
    move = NO_MOVE;
  }

  void settle(int move) {
    thought = null;
    this.move = move;
  }

  boolean isAnswered() {
    return move != NO_MOVE;
  }

  Answer answer() {
    return Answer.newBuilder().setGameId(id).setDecisionId(asked).setMove(move).build();
  }

  /** For the log. */
  String name() {
    return Long.toUnsignedString(id);
  }

  /** Has the author's code make the bot. */
  void makeBot(BotFactory factory, GameStarted start) throws Exception {
    bot = factory.newBot(start);
    if (bot == null) {
      throw new IllegalStateException("the factory returned no bot");
    }
  }

  boolean hasBot() {
    return bot != null;
  }

  /** Asks the bot, and holds its answer to the moves there are. */
  int choose(Decision decision) throws Exception {
    int position = bot.choose(decision);
    if (position < 0 || position >= decision.getMovesCount()) {
      throw new IllegalArgumentException(
          "the bot chose move %d, but they are 0 to %d"
              .formatted(position, decision.getMovesCount() - 1));
    }
    return position;
  }

  /** Tells the bot how its game ended. */
  void hear(GameOver end) {
    if (end.hasResult()) {
      bot.gameOver(end);
    } else {
      bot.gameVoided(end.getVoidReason());
    }
  }
}
