package dev.happycity;

import dev.happycity.v1.Decision;
import dev.happycity.v1.GameOver;
import dev.happycity.v1.VoidReason;

/**
 * Plays one game. The methods of one bot are never called at the same time, those of different
 * games are. A bot that has something to tell of its choices is a {@link TellingBot}.
 */
@FunctionalInterface
public interface Bot {
  /**
   * Returns the position of the chosen move in the decision's moves, counted from 0.
   *
   * <p>The thread is interrupted when the decision is late, or void because nobody waits for it any
   * more; what is thrown after that resigns nothing. A bot that searches for as long as it may has
   * to stop earlier, since an answer takes time to arrive: see {@code
   * decision.getClock().getTimeLeftMs()}.
   *
   * @throws Exception whatever is thrown, or a position that doesn't exist, resigns this game; the
   *     bot's other games go on
   */
  int choose(Decision decision) throws Exception;

  /** Hears how the game ended. Nothing is asked of the bot after that. */
  default void gameOver(GameOver over) {}

  /** Hears that the game was broken off and counts for nobody, for no fault of a bot. */
  default void gameVoided(VoidReason reason) {}
}
