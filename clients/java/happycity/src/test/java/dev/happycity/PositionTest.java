package dev.happycity;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.Gson;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.happycity.v1.View;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import java.util.OptionalInt;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

class PositionTest {
  /** A line of engine.jsonl, which tools/engine/engine_cases.py describes. */
  private static final class Case {
    String position;
    String seed;
    int fast;
    int[] legal_moves;
    List<List<Integer>> outcome;
    List<List<Integer>> score;
    Integer quick_move;
    double[] playouts;
    List<List<Integer>> random_playout;
    String next_turn;
    int[] awaited;
    String opened;
    String next;
    String view;
    int fast_builders;
    String sample;
    int[] deal;
    String deal_seed;
    int[] moves;

    View view() throws InvalidProtocolBufferException {
      return View.parseFrom(Base64.getDecoder().decode(view));
    }
  }

  private static List<Case> cases() throws IOException {
    String given = System.getenv("HAPPYCITY_ENGINE_CASES");
    Path file = Path.of(given == null ? "../../conformance/engine.jsonl" : given);
    try (Stream<String> lines = Files.lines(file)) {
      return lines.map(line -> new Gson().fromJson(line, Case.class)).toList();
    }
  }

  private static Case caseWithView() throws IOException {
    return cases().stream().filter(each -> each.view != null).findFirst().orElseThrow();
  }

  private static String text(Position position) {
    return Base64.getEncoder().encodeToString(position.bytes());
  }

  private static List<List<Integer>> rows(Position.Outcome outcome) {
    return List.of(
        outcome.points(),
        outcome.coins(),
        outcome.inhabitants(),
        outcome.hearts(),
        outcome.ranks());
  }

  private static <T> T unlessRefused(Supplier<T> call) {
    try {
      return call.get();
    } catch (IllegalArgumentException refused) {
      return null;
    }
  }

  /** Every position is reached and played on as by the native engine. */
  @Test
  void likeTheCrate() throws IOException {
    List<Case> cases = cases();
    assertTrue(cases.size() >= 100);
    for (Case each : cases) {
      Position position = Position.fromBytes(Base64.getDecoder().decode(each.position));
      assertEquals(each.position, text(position));
      long seed = Long.parseUnsignedLong(each.seed);
      int[] moves = position.legalMoves();
      int first = moves.length == 0 ? 0 : moves[0];
      assertArrayEquals(each.legal_moves, moves);
      assertEquals(each.outcome, position.outcome().map(PositionTest::rows).orElse(null));
      assertEquals(each.score, rows(position.score()));
      assertEquals(each.quick_move, unlessRefused(() -> quickMove(position, each.fast)));
      assertArrayEquals(each.playouts, unlessRefused(() -> position.playouts(moves, each.fast)));
      assertEquals(each.random_playout, unlessRefused(() -> rows(position.randomPlayout(seed))));
      assertEquals(each.next_turn, unlessRefused(() -> text(position.nextTurn(first))));
      assertArrayEquals(each.awaited, position.awaited());
      assertEquals(each.opened, text(position.opened()));
      assertEquals(each.next, unlessRefused(() -> text(next(position))));
      assertEquals(each.position, text(position));
      if (each.view != null) {
        assertEquals(each.fast_builders, Position.fastBuilders(each.view()));
        assertEquals(each.sample, text(Position.sample(each.view(), seed)));
      }
      if (each.deal != null) {
        assertEquals(each.position, text(dealt(each)));
      }
    }
  }

  private static Integer quickMove(Position position, int fast) {
    OptionalInt move = position.quickMove(fast);
    return move.isPresent() ? move.getAsInt() : null;
  }

  private static Position next(Position position) {
    Position next = position.copy();
    int[] awaited = position.awaited();
    if (awaited.length > 0) {
      next.reveal(awaited[0]);
    } else {
      next.apply(position.legalMoves().length == 0 ? 0 : position.legalMoves()[0]);
    }
    return next;
  }

  /** Returns the position that the moves of a case lead to from its deal. */
  private static Position dealt(Case each) {
    long seed = Long.parseUnsignedLong(each.deal_seed);
    Position position = Position.deal(each.deal[0], each.deal[1] == 1, each.deal[2] == 1, seed);
    for (int move : each.moves) {
      position.apply(move);
    }
    return position;
  }

  /** Worlds of a decision have its moves and look like its view. */
  @Test
  void ofDecision() throws IOException {
    Path first = Path.of("../../conformance/first.decision");
    Decision decision = RecordedDecision.read(first).decision();
    Position position = decision.position(-1);
    assertEquals(text(Position.sample(decision.view(), -1)), text(position));
    assertEquals(decision.moves().size(), position.legalMoves().length);
    assertEquals(decision.view().getRound(), position.round());
    assertEquals(decision.view().getSeat(), position.seat());
    assertEquals(decision.view().getPhase(), position.phase());
    int move = position.legalMoves()[0];
    assertEquals(position.playouts(new int[] {move}, 0)[0], position.playout(move, 0));
  }

  /** What is refused changes nothing. */
  @Test
  void refusals() throws IOException {
    View view = caseWithView().view();
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
  }

  private static void assertRefused(Executable call) {
    assertThrows(IllegalArgumentException.class, call);
  }

  /**
   * A thread that is interrupted while it searches can search again, however often that happens.
   */
  @Test
  void interrupted() throws IOException {
    Position position = Position.sample(caseWithView().view(), 1);
    int[] moves = position.legalMoves();
    double[] values = position.playouts(moves, 0);
    for (int i = 0; i < 1000; i++) {
      Thread.currentThread().interrupt();
      assertThrows(RuntimeException.class, () -> position.playouts(moves, 0));
      Thread.interrupted();
    }
    assertArrayEquals(values, position.playouts(moves, 0));
  }
}
