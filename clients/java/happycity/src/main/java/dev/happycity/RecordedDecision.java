package dev.happycity;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.happycity.v1.GameStarted;
import dev.happycity.v1.Move;
import dev.happycity.v1.PlayResponse;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * A decision of a recorded game, for the tests of a bot, with the start of its game and all that
 * happened before.
 *
 * <p>{@code happycity ask GAME@DECISION --out FILE} writes the file: the message with which a
 * server would send this decision to a bot that begins there.
 */
public record RecordedDecision(GameStarted started, Decision decision) {
  /**
   * Reads a file.
   *
   * @throws IOException if it can't be read, or has something else
   */
  public static RecordedDecision read(Path path) throws IOException {
    PlayResponse batch = PlayResponse.getDefaultInstance();
    try {
      batch = PlayResponse.parseFrom(Files.readAllBytes(path));
    } catch (InvalidProtocolBufferException e) {
      // it is no message at all
    }
    if (batch.getGamesStartedCount() != 1 || batch.getDecisionsCount() != 1) {
      String advice = "happycity ask GAME@DECISION --out FILE";
      throw new IOException(path + " is not a decision as this writes it: " + advice);
    }
    return new RecordedDecision(batch.getGamesStarted(0), new Decision(batch.getDecisions(0)));
  }

  /**
   * Makes a bot for the game, and returns the move that it chooses at the decision.
   *
   * @throws IndexOutOfBoundsException if the choice is not a move
   * @throws Exception what the bot throws
   */
  public Move ask(BotFactory factory) throws Exception {
    List<Move> moves = decision.moves();
    return moves.get(factory.newBot(started).choose(decision));
  }
}
