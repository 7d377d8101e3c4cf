package dev.happycity;

import dev.happycity.v1.Decision;
import dev.happycity.v1.GameOver;
import dev.happycity.v1.VoidReason;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/** A bot that plays the first move, and tells how its games ended. */
final class Listener implements Bot {
  final BlockingQueue<GameOver> overs = new LinkedBlockingQueue<>();
  final BlockingQueue<VoidReason> voids = new LinkedBlockingQueue<>();

  @Override
  public int choose(Decision decision) {
    return 0;
  }

  @Override
  public void gameOver(GameOver over) {
    overs.add(over);
  }

  @Override
  public void gameVoided(VoidReason reason) {
    voids.add(reason);
  }
}
