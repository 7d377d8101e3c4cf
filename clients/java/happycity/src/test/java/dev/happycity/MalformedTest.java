package dev.happycity;

import static dev.happycity.Dialogue.decision;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Duration;
import dev.happycity.v1.Clock;
import dev.happycity.v1.GameOver;
import dev.happycity.v1.GameStarted;
import dev.happycity.v1.Notice;
import dev.happycity.v1.PlayResponse;
import dev.happycity.v1.Welcome;
import io.grpc.Metadata;
import io.grpc.Status;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Servers that keep to no contract: whatever they send, the bot ends or plays on. */
class MalformedTest {
  private static final Metadata.Key<byte[]> DETAILS =
      Metadata.Key.of("grpc-status-details-bin", Metadata.BINARY_BYTE_MARSHALLER);

  private final Peer peer = new Peer();

  @AfterEach
  void close() {
    peer.close();
  }

  /** Times that no clock can hold, unknown matches and missing fields stop no bot. */
  @Test
  void messages() throws InterruptedException {
    peer.play(
        BotFactory.stateless(decision -> decision.timeLeft().isPresent() ? 2 : decision.seat()));
    Duration longest =
        Duration.newBuilder().setSeconds(Long.MAX_VALUE).setNanos(Integer.MAX_VALUE).build();
    Dialogue dialogue = peer.welcome(Welcome.newBuilder().setPingInterval(longest));
    dialogue.start(Long.MIN_VALUE, Long.MAX_VALUE);
    dialogue.send(
        PlayResponse.newBuilder()
            .addGamesStarted(GameStarted.newBuilder().setSeat(-1))
            .addDecisions(decision(99, -1))
            .addGamesOver(GameOver.newBuilder().setMatchId(-99))
            .addNotices(Notice.newBuilder().setKindValue(99).setText("\u001b]0;".repeat(100_000))));
    for (long time : new long[] {Long.MAX_VALUE, -1}) {
      Clock clock = Clock.newBuilder().setTimeLeftUs(time).setBankLeftUs(time).build();
      dialogue.ask(decision(Long.MIN_VALUE, (int) time).toBuilder().setClock(clock).build());
    }
    assertEquals(Map.of(Long.MIN_VALUE, 2), dialogue.answers());
  }

  /** A negative ping interval is none. */
  @Test
  void negativeInterval() throws InterruptedException {
    peer.play(Counter.FACTORY);
    Duration negative = Duration.newBuilder().setSeconds(-1).setNanos(-1).build();
    peer.welcome(Welcome.newBuilder().setPingInterval(negative)).expectSilence();
  }

  /** Details that are damaged are none, and the text is one line without control characters. */
  @Test
  void details() throws InterruptedException {
    Playing bot = peer.play(Counter.FACTORY);
    Metadata trailers = new Metadata();
    trailers.put(DETAILS, new byte[] {-1, -1, -1});
    Status status = Status.NOT_FOUND.withDescription("\u001b[2J gone\nfor good");
    peer.accept().fail(status.asRuntimeException(trailers));
    ConnectionException error =
        assertInstanceOf(ConnectionException.class, bot.end().orElseThrow());
    assertEquals("", error.reason());
    String text = error.getMessage();
    assertTrue(text.endsWith("ended the session of \"tester\": [2J gone for good"), text);
  }
}
