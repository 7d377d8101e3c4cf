package dev.happycity;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.happycity.v1.Decision;
import dev.happycity.v1.Ending;
import dev.happycity.v1.GameOver;
import dev.happycity.v1.MatchResult;
import dev.happycity.v1.Move;
import dev.happycity.v1.Notice;
import dev.happycity.v1.NoticeKind;
import dev.happycity.v1.PlayResponse;
import dev.happycity.v1.SeatResult;
import dev.happycity.v1.View;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The log of a bot: its lines, and what it repeats. */
class LogTest {
  private final Logger logger = Logger.getLogger("dev.happycity");
  private final List<LogRecord> records = Collections.synchronizedList(new ArrayList<>());
  private final Handler handler =
      new Handler() {
        @Override
        public void publish(LogRecord record) {
          records.add(record);
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
      };

  @BeforeEach
  void listen() {
    logger.setLevel(Level.INFO);
    logger.addHandler(handler);
  }

  @AfterEach
  void stopListening() {
    logger.removeHandler(handler);
    logger.setLevel(null);
  }

  private List<String> lines() {
    synchronized (records) {
      return records.stream().map(new ProgramLog.Lines()::formatMessage).toList();
    }
  }

  /** A crash is logged with its stack once, then at powers of ten and at the end. */
  @Test
  void repeatedCrashes() {
    CrashLog crashes = new CrashLog(System.getLogger("dev.happycity"));
    for (int match = 1; match <= 25; match++) {
      Throwable error = new IllegalStateException("card " + match + " is missing");
      error.setStackTrace(new StackTraceElement[0]);
      crashes.add("given up", match, Place.of(match, 2, 3), error);
    }
    crashes.close();
    String reason = "IllegalStateException: card 1 is missing";
    assertEquals(
        List.of(
            "match 1, round 2, decision 3: given up",
            "match 10, round 2, decision 3: the same crash as in match 1 (10 so far): " + reason,
            "the same crash in 25 games, first in match 1: " + reason),
        lines());
    assertEquals(1, records.stream().filter(record -> record.getThrown() != null).count());
  }

  /** A bot whose errors are all different fills neither the memory nor the log. */
  @Test
  void manyKindsOfCrashes() {
    CrashLog crashes = new CrashLog(System.getLogger("dev.happycity"));
    for (int i = 0; i < 1000; i++) {
      Throwable error = new IllegalStateException("x".repeat(i % 150) + "y".repeat(i / 150));
      error.setStackTrace(new StackTraceElement[0]);
      crashes.add("given up", 1, "match 1", error);
    }
    crashes.close();
    assertTrue(records.size() < CrashLog.MOST_KINDS + 5, records.size() + " records");
  }

  /** The end of a game says that the server gave the seat up; a notice of it is not logged too. */
  @Test
  void forfeit() throws InterruptedException {
    Peer peer = new Peer();
    try {
      Playing bot = peer.play(BotFactory.stateless(decision -> 0), peer.settings());
      Dialogue dialogue = peer.welcome("token", false);
      dialogue.start(7);
      Decision asked =
          Decision.newBuilder()
              .setMatchId(7)
              .setDecisionId(3)
              .setView(View.newBuilder().setRound(2))
              .addMoves(Move.getDefaultInstance())
              .build();
      dialogue.send(PlayResponse.newBuilder().addDecisions(asked));
      dialogue.next();
      SeatResult own =
          SeatResult.newBuilder()
              .setEnding(Ending.ENDING_TIMEOUT)
              .setReason("no answer\nwithin 10 s")
              .build();
      GameOver over =
          GameOver.newBuilder()
              .setMatchId(7)
              .setResult(MatchResult.newBuilder().addSeats(own))
              .build();
      Notice.Builder notice =
          Notice.newBuilder().setMatchId(7).setKind(NoticeKind.NOTICE_KIND_FORFEIT);
      dialogue.send(PlayResponse.newBuilder().addNotices(notice).addGamesOver(over));
      Notice late =
          Notice.newBuilder()
              .setMatchId(7)
              .setRound(2)
              .setDecisionId(3)
              .setText("too\nlate")
              .build();
      dialogue.send(PlayResponse.newBuilder().addNotices(late));
      dialogue.end();
      bot.end();
    } finally {
      peer.close();
    }
    List<String> lines = lines();
    String place = "match 7, round 2, decision 3: ";
    assertTrue(
        lines.contains(place + "the seat was forfeited: timeout: no answer within 10 s"),
        lines::toString);
    assertTrue(lines.stream().anyMatch(line -> line.endsWith(place + "too late")), lines::toString);
    assertEquals(3, lines.size(), lines::toString);
  }

  /** A line has the time in UTC, to the second. */
  @Test
  void time() {
    LogRecord record = new LogRecord(Level.SEVERE, "mine: lost");
    record.setInstant(Instant.parse("2026-11-22T15:23:03.987Z"));
    String line = new ProgramLog.Lines().format(record).strip();
    assertEquals("2026-11-22T15:23:03Z ERROR mine: lost", line);
  }
}
