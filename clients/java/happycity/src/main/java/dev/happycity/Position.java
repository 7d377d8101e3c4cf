package dev.happycity;

import dev.happycity.v1.Phase;
import dev.happycity.v1.View;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * A position of the native engine: a game to try moves in, at a decision or at its end.
 *
 * <p>Moves and cards are numbers: {@code Move.index} of the Python package happycity, and the
 * contract's enum Card. {@code fast} has bit n set for a seat n that never takes a coin if it can
 * buy; 0 for none. What is refused throws an IllegalArgumentException and changes nothing. A
 * position belongs to one thread at a time.
 */
public final class Position {
  private byte[] bytes;

  private Position(byte[] bytes) {
    this.bytes = bytes;
  }

  /**
   * How a game ended, or would end; each list is by seat. Rank 1 is first; equal seats share one.
   */
  public record Outcome(
      List<Integer> points,
      List<Integer> coins,
      List<Integer> inhabitants,
      List<Integer> hearts,
      List<Integer> ranks) {}

  /** Starts a game on the deal that the arena shuffles from a seed, for 2 to 5 players. */
  public static Position deal(int players, boolean expert, boolean sum, long seed) {
    return new Position(Engine.bytes("happycity_deal", players, expert ? 1 : 0, sum ? 1 : 0, seed));
  }

  /** Draws what is hidden in a view from a seed. */
  public static Position sample(View view, long seed) {
    return new Position(Engine.bytes("happycity_sample", view.toByteArray(), seed));
  }

  /** Returns the rivals of the seat to decide that have bought in every turn, for {@code fast}. */
  public static int fastBuilders(View view) {
    return Engine.number("happycity_fast", view.toByteArray());
  }

  /** Reads what {@link #bytes} returned. */
  public static Position fromBytes(byte[] bytes) {
    Position position = new Position(bytes.clone());
    position.legalMoves(); // refuses what is not a position
    return position;
  }

  /** Returns the bytes of the position, which engine/src/bytes.rs describes. */
  public byte[] bytes() {
    return bytes.clone();
  }

  /** Returns an independent game in the same position. */
  public Position copy() {
    return new Position(bytes);
  }

  /** The round, 1 to 30, or 0 in the market draft. */
  public int round() {
    return bytes[3];
  }

  /** Whose decision it is. */
  public int seat() {
    return bytes[4];
  }

  /** The step that waits. */
  public Phase phase() {
    return Phase.forNumber(bytes[5]);
  }

  /**
   * Returns the legal moves in the order of {@link Decision#moves}, so that the place of one is the
   * answer to a decision. There are none at the end, and while a card is awaited.
   */
  public int[] legalMoves() {
    return widened(Engine.bytes("happycity_legal_moves", bytes));
  }

  /** Plays a legal move, then every forced one up to the next decision. */
  public void apply(int move) {
    bytes = Engine.bytes("happycity_apply", bytes, move);
  }

  /** Returns how the game ended, once it is over. */
  public Optional<Outcome> outcome() {
    return outcome(Engine.rows("happycity_outcome", bytes));
  }

  /** Returns how the game would end if it ended now. */
  public Outcome score() {
    return outcome(Engine.rows("happycity_score", bytes)).orElseThrow();
  }

  /**
   * Returns how the seat to decide does, -1 to 1, if it plays a move, after which all play by the
   * quick policy.
   */
  public double playout(int move, int fast) {
    return playouts(new int[] {move}, fast)[0];
  }

  /** Returns the same for each of several moves, which is faster. */
  public double[] playouts(int[] moves, int fast) {
    return Engine.doubles("happycity_playouts", bytes, narrowed(moves), fast);
  }

  /** Returns how the game ends if all play at random. */
  public Outcome randomPlayout(long seed) {
    return outcome(Engine.rows("happycity_random_playout", bytes, seed)).orElseThrow();
  }

  /** Returns the choice of the quick policy; nothing at the end. */
  public OptionalInt quickMove(int fast) {
    return phase() == Phase.PHASE_OVER
        ? OptionalInt.empty()
        : OptionalInt.of(Engine.number("happycity_quick_move", bytes, fast));
  }

  /** Returns the position before the seat's next turn, after a move and quick ones, or the end. */
  public Position nextTurn(int move) {
    return new Position(Engine.bytes("happycity_next_turn", bytes, move));
  }

  /** Returns the same position without hidden orders: at each draw it awaits a card. */
  public Position opened() {
    return new Position(Engine.bytes("happycity_opened", bytes));
  }

  /** Returns the cards of which the position awaits one, each as likely as the others. */
  public int[] awaited() {
    return widened(Engine.bytes("happycity_awaited", bytes));
  }

  /** Lets the awaited card be this one, and plays on. */
  public void reveal(int card) {
    bytes = Engine.bytes("happycity_reveal", bytes, card);
  }

  private static Optional<Outcome> outcome(int[] rows) {
    int players = rows.length / 5;
    if (players == 0) {
      return Optional.empty();
    }
    List<Integer> all = Arrays.stream(rows).boxed().toList();
    List<List<Integer>> row = new ArrayList<>();
    for (int first = 0; first < rows.length; first += players) {
      row.add(all.subList(first, first + players));
    }
    return Optional.of(new Outcome(row.get(0), row.get(1), row.get(2), row.get(3), row.get(4)));
  }

  private static int[] widened(byte[] numbers) {
    int[] wide = new int[numbers.length];
    Arrays.setAll(wide, i -> Byte.toUnsignedInt(numbers[i]));
    return wide;
  }

  private static byte[] narrowed(int[] numbers) {
    byte[] narrow = new byte[numbers.length];
    for (int i = 0; i < numbers.length; i++) {
      narrow[i] = (byte) (numbers[i] == (numbers[i] & 0xFF) ? numbers[i] : 0xFF); // which none has
    }
    return narrow;
  }
}
