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
  final long id;
  final Chores chores;
  boolean over;
  boolean wanted; // whether the present connection's server waits for the answer
  int asked; // the decision that the bot was asked last, or 0
  Thought thought; // about that decision; null if it is done, or its time is up
  private Answer answer; // to that decision; null if there is none yet

  private Bot bot; // made by the first chore, and touched by chores only

  Game(long id, Executor thinkers) {
    this.id = id;
    this.chores = new Chores(thinkers);
  }

  void ask(Thought thought) {
    asked = thought.decision.getDecisionId();
    this.thought = thought;
    answer = null;
  }

  void settle(Answer answer) {
    thought = null;
    this.answer = answer;
  }

  boolean isAnswered() {
    return answer != null;
  }

  Answer answer() {
    return answer;
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
  Answer choose(Thought thought) throws Exception {
    Decision decision = thought.decision;
    int position =
        bot instanceof TellingBot telling
            ? telling.choose(decision, thought)
            : bot.choose(decision);
    if (position < 0 || position >= decision.getMovesCount()) {
      throw new IllegalArgumentException(
          "the bot chose move %d, but they are 0 to %d"
              .formatted(position, decision.getMovesCount() - 1));
    }
    Answer.Builder answer =
        Answer.newBuilder().setGameId(id).setDecisionId(decision.getDecisionId()).setMove(position);
    thought.notes().forEach(answer::putMetrics);
    return answer.build();
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
