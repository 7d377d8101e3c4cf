package dev.happycity;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.gson.Gson;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.happycity.v1.View;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

class PositionTest {
  /** A line of positions.jsonl, which make_positions.py describes. */
  private static final class Case {
    String view;
    String seed;
    String position;
    int fast;
    int[] legal_moves;
    double[] playouts;
    double[] fast_playouts;
    int quick_move;
    List<List<Integer>> score;
    List<List<Integer>> random_playout;
    String opened;
    String next;
    String next_turn;
    String awaiting;
    int[] awaited;
    String revealed;
    int[] random_moves;
    String end;
    List<List<Integer>> outcome;
    int[] deal;
    String dealt;

    Decision decision() throws InvalidProtocolBufferException {
      View seen = View.parseFrom(Base64.getDecoder().decode(view));
      return new Decision(dev.happycity.v1.Decision.newBuilder().setView(seen).build());
    }
  }

  private static List<Case> cases() throws IOException {
    Path file = Path.of("../../conformance/positions.jsonl");
    return Files.readAllLines(file).stream().map(l -> new Gson().fromJson(l, Case.class)).toList();
  }

  private static Position.Outcome outcome(List<List<Integer>> rows) {
    return new Position.Outcome(rows.get(0), rows.get(1), rows.get(2), rows.get(3), rows.get(4));
  }

  private static void assertPosition(String expected, Position position) {
    assertEquals(expected, Base64.getEncoder().encodeToString(position.bytes()));
  }

  /** The engine does what it does in Python, from a decision to the end of the game. */
  @Test
  void likeInPython() throws IOException {
    assertEquals(32, cases().size());
    for (Case each : cases()) {
      long seed = Long.parseUnsignedLong(each.seed);
      Decision decision = each.decision();
      Position position = decision.position(seed);
      assertPosition(each.position, position);
      assertPosition(each.position, Position.fromBytes(position.bytes()));
      assertEquals(decision.view().getRound(), position.round());
      assertEquals(decision.view().getSeat(), position.seat());
      assertEquals(decision.view().getPhase(), position.phase());

      int fast = Position.fastBuilders(decision.view());
      assertEquals(each.fast, fast);
      int[] moves = position.legalMoves();
      assertArrayEquals(each.legal_moves, moves);
      assertArrayEquals(each.playouts, position.playouts(moves, 0));
      assertArrayEquals(each.fast_playouts, position.playouts(moves, fast));
      assertEquals(each.fast_playouts[0], position.playout(moves[0], fast));
      assertEquals(OptionalInt.of(each.quick_move), position.quickMove(0));
      assertEquals(outcome(each.score), position.score());
      assertEquals(outcome(each.random_playout), position.randomPlayout(seed));
      assertPosition(each.opened, position.opened());
      int last = moves[moves.length - 1];
      assertPosition(each.next_turn, position.nextTurn(last));
      assertEquals(Optional.empty(), position.outcome());

      Position next = position.copy();
      next.apply(last);
      assertPosition(each.next, next);
      assertPosition(each.position, position);

      for (int move : each.random_moves) {
        position.apply(move);
      }
      assertPosition(each.end, position);
      assertEquals(Optional.of(outcome(each.outcome)), position.outcome());
      assertEquals(OptionalInt.empty(), position.quickMove(0));

      Position awaiting = Position.fromBytes(Base64.getDecoder().decode(each.awaiting));
      assertArrayEquals(each.awaited, awaiting.awaited());
      assertThrows(IllegalArgumentException.class, () -> awaiting.randomPlayout(1));
      awaiting.reveal(each.awaited[each.awaited.length - 1]);
      assertPosition(each.revealed, awaiting);

      boolean expert = each.deal[1] == 1;
      assertPosition(each.dealt, Position.deal(each.deal[0], expert, each.deal[2] == 1, seed));
    }
  }

  /** What is refused changes nothing. */
  @Test
  void refusals() throws IOException {
    View view = cases().get(0).decision().view();
    Position position = Position.sample(view, 1);
    byte[] before = position.bytes();
    for (int move : new int[] {-1, 91, 256, 1 << 20}) {
      assertRefused(() -> position.apply(move));
      assertRefused(() -> position.playout(move, 0));
      assertRefused(() -> position.reveal(move));
    }
    assertArrayEquals(before, position.bytes());
    assertRefused(() -> position.playouts(new int[9], 0));
    assertRefused(() -> position.quickMove(-1));
    assertRefused(() -> Position.fromBytes(new byte[0]));
    assertRefused(() -> Position.fromBytes(new byte[5000]));
    assertRefused(() -> Position.deal(6, false, false, 1));
    assertRefused(() -> Position.sample(View.getDefaultInstance(), 1));
    assertRefused(() -> Position.sample(view, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  }

  private static void assertRefused(Executable call) {
    assertThrows(IllegalArgumentException.class, call);
  }

  /**
   * A thread that is interrupted while it searches can search again, however often that happens.
   */
  @Test
  void interrupted() throws IOException {
    Case any = cases().get(0);
    Position position = any.decision().position(Long.parseUnsignedLong(any.seed));
    for (int i = 0; i < 1000; i++) {
      Thread.currentThread().interrupt();
      assertThrows(RuntimeException.class, () -> position.playouts(any.legal_moves, 0));
      Thread.interrupted();
    }
    assertArrayEquals(any.playouts, position.playouts(any.legal_moves, 0));
  }
}
