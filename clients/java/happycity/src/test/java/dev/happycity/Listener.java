package dev.happycity;

import dev.happycity.v1.VoidReason;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/** A bot that plays the first move, and reports how its games ended. */
final class Listener implements Bot {
  final BlockingQueue<GameOver> overs = new LinkedBlockingQueue<>();
  final BlockingQueue<Voided> voids = new LinkedBlockingQueue<>();

  record Voided(long matchId, VoidReason reason) {}

  @Override
  public int choose(Decision decision) {
    return 0;
  }

  @Override
  public void gameOver(GameOver over) {
    overs.add(over);
  }

  @Override
  public void gameVoided(long matchId, VoidReason reason) {
    voids.add(new Voided(matchId, reason));
  }
}
