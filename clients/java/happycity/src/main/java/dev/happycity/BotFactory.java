package dev.happycity;

import dev.happycity.v1.GameStarted;

/** Makes the {@link Bot} of one game when that starts. It may be called for several at once. */
@FunctionalInterface
public interface BotFactory {
  /**
   * Returns the bot of a game.
   *
   * @throws Exception with any exception, the bot crashes: this game is given up, others go on
   */
  Bot newBot(GameStarted started) throws Exception;

  /** Returns the factory of a bot without a memory, which plays all games at once. */
  static BotFactory stateless(Bot bot) {
    return started -> bot;
  }
}
