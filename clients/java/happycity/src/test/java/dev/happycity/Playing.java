package dev.happycity;

import static dev.happycity.Within.within;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** A bot that plays in a thread of its own. */
final class Playing {
  static {
    Connection.goodbyeTime = Duration.ofSeconds(Within.PATIENCE_SECONDS);
  }

  private final CompletableFuture<Optional<Exception>> ended = new CompletableFuture<>();
  private final Thread player;

  Playing(BotFactory factory, Settings settings) {
    player =
        new Thread(
            () -> {
              try {
                HappyCity.play(factory, settings);
                ended.complete(Optional.empty());
              } catch (InterruptedException | RuntimeException e) {
                ended.complete(Optional.of(e));
              }
            },
            "player");
    player.start();
  }

  void stop() {
    player.interrupt();
  }

  /** Returns what play threw, if anything. */
  Optional<Exception> end() throws InterruptedException {
    return within(ended, "end of the bot");
  }
}
