package dev.happycity;

import java.nio.file.Path;

/**
 * What {@code python -m tools sdk-speed} measures: the playouts or calls, and the number of times,
 * that it names.
 */
final class EngineSpeed {
  private EngineSpeed() {}

  public static void main(String[] args) throws Exception {
    String[] given = System.getenv("HAPPYCITY_ENGINE_SPEED").split(" ");
    Path first = Path.of("../conformance/first.decision");
    Position world = RecordedDecision.read(first).decision().position(1);
    int[] moves = world.legalMoves();
    for (int i = Integer.parseInt(given[1]); i > 0; i--) {
      if (given[0].equals("playouts")) {
        world.playouts(moves, 0);
      } else {
        world.copy().apply(moves[0]);
      }
    }
  }
}
