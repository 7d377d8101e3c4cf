package dev.happycity;

import dev.happycity.v1.GameOver;
import dev.happycity.v1.VoidReason;

/**
 * Plays one game in one seat. The methods of one bot are never called at the same time, those of
 * different games are.
 */
@FunctionalInterface
public interface Bot {
  /**
   * Returns the position of the chosen move in the decision's moves, counted from 0.
   *
   * <p>The thread is interrupted when the server has settled the decision; what is thrown after
   * that has no effect. A bot that searches for as long as it may has to stop earlier, since an
   * answer takes time to arrive: see {@link Decision#timeLeft}.
   *
   * @throws Exception with any exception, or a position that doesn't exist, the bot crashes: it
   *     gives up this game, and its other games go on
   */
  int choose(Decision decision) throws Exception;

  /** Takes note of the game's result, which has all seats. It is the last call. */
  default void gameOver(GameOver over) {}

  /** Takes note that the match was voided and does not count. It is the last call. */
  default void gameVoided(long matchId, VoidReason reason) {}
}
