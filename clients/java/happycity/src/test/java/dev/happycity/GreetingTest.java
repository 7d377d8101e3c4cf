package dev.happycity;

import static dev.happycity.Dialogue.decision;
import static dev.happycity.Within.within;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.happycity.v1.Hello;
import dev.happycity.v1.PlayResponse;
import dev.happycity.v1.Welcome;
import io.grpc.Status;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** How a bot comes and goes. */
class GreetingTest {
  private static final BotFactory FIRST = BotFactory.stateless(decision -> 0);

  private final Peer peer = new Peer();

  @AfterEach
  void close() {
    peer.close();
  }

  /** The hello tells who is calling, and the token travels as a bearer token. */
  @Test
  void hello() throws InterruptedException {
    peer.play(FIRST, peer.settings().name("me").token("secret").games(3));
    Dialogue dialogue = peer.accept();
    Hello expected =
        Hello.newBuilder()
            .setName("me")
            .setProtocolVersion(1)
            .setMaxGames(3)
            .setSoftware("happycity-java/" + HappyCity.VERSION)
            .build();
    assertEquals(expected, dialogue.hello);
    assertEquals("Bearer secret", dialogue.authorization);
  }

  /** An unlimited number of games is 0 on the wire, and without a token nothing is authorized. */
  @Test
  void helloOfAnOpenServer() throws InterruptedException {
    peer.play(FIRST, peer.settings().games(Settings.UNLIMITED));
    Dialogue dialogue = peer.accept();
    assertEquals(0, dialogue.hello.getMaxGames());
    assertNull(dialogue.authorization);
  }

  /** A bot that is refused for good ends with the server's reason, and doesn't try again. */
  @ParameterizedTest
  @CsvSource({
    "ABORTED, REPLACED",
    "UNAUTHENTICATED, UNAUTHENTICATED",
    "PERMISSION_DENIED, WRONG_NAME",
    "PERMISSION_DENIED, WRONG_ROLE",
    "PERMISSION_DENIED, REVOKED",
    "INVALID_ARGUMENT, INVALID_FIELD",
    "INVALID_ARGUMENT, HELLO_EXPECTED",
    "UNIMPLEMENTED, ''",
  })
  void refusals(Status.Code code, String reason) throws InterruptedException {
    Playing bot = peer.play(FIRST);
    peer.accept().refuse(code, reason, Map.of());
    ConnectionException refused = failure(bot);
    assertEquals(code, refused.code());
    assertEquals(reason, refused.reason());
    assertEquals("tester", refused.name());
    assertEquals(peer.address(), refused.server());
    assertTrue(peer.opened.isEmpty(), "it tried again");
  }

  /** A bot that speaks another version than the server says which ones that speaks. */
  @Test
  void unsupportedVersion() throws InterruptedException {
    Playing bot = peer.play(FIRST);
    peer.accept()
        .refuse(
            Status.Code.FAILED_PRECONDITION,
            "UNSUPPORTED_VERSION",
            Map.of("supported_min", "2", "supported_max", "4"));
    assertMessage("speaks versions 2 to 4 of the protocol, this bot version 1", bot);
  }

  /** A server that welcomes to another version can't be played on. */
  @Test
  void strangeVersion() throws InterruptedException {
    Playing bot = peer.play(FIRST);
    Welcome.Builder welcome = Welcome.newBuilder().setProtocolVersion(2);
    peer.accept().send(PlayResponse.newBuilder().setWelcome(welcome));
    assertMessage("can't be played on: it wants to speak version 2", bot);
  }

  /** Neither can one that doesn't welcome at all. */
  @Test
  void noWelcome() throws InterruptedException {
    Playing bot = peer.play(FIRST);
    peer.accept().send(PlayResponse.newBuilder());
    assertMessage("can't be played on: it began without a welcome", bot);
  }

  /** Without a server the bot ends at once, and tells what to do. */
  @Test
  void noServer() throws InterruptedException {
    assertMessage("happycity serve", peer.play(FIRST, peer.settings().server("127.0.0.1:1")));
  }

  /** A bot that is to wait for its server ends when it is stopped meanwhile. */
  @Test
  void stoppedWhileSearching() throws InterruptedException {
    Settings.Builder settings = peer.settings().server("127.0.0.1:1");
    Playing bot = peer.play(FIRST, settings.waitTime(Settings.DEFAULT_RECONNECT));
    bot.stop();
    assertInstanceOf(InterruptedException.class, bot.end().orElseThrow());
  }

  /** When it is stopped, a bot says goodbye and closes its side. */
  @Test
  void goodbye() throws InterruptedException {
    Playing bot = peer.play(FIRST);
    Dialogue dialogue = peer.welcome("", false);
    dialogue.expectSilence();
    bot.stop();
    assertTrue(dialogue.next().hasGoodbye());
    assertEquals(Dialogue.END, dialogue.next());
    assertInstanceOf(InterruptedException.class, bot.end().orElseThrow());
  }

  /** A bot that thinks when it is stopped is told so, and doesn't keep the goodbye. */
  @Test
  void goodbyeWhileThinking() throws InterruptedException {
    Thinker thinker = new Thinker();
    Playing bot = peer.play(BotFactory.stateless(thinker));
    Dialogue dialogue = peer.welcome("", false);
    dialogue.start(1);
    dialogue.ask(decision(1, 1));
    Thinker.Question question = within(thinker.asked, "question");
    bot.stop();
    assertTrue(dialogue.next().hasGoodbye());
    assertTrue(within(question.interrupted(), "interruption"));
    question.answer().complete(0);
    assertInstanceOf(InterruptedException.class, bot.end().orElseThrow());
  }

  /** A server that ends the stream in good order ends the bot without an error. */
  @Test
  void serverEnds() throws InterruptedException {
    Playing bot = peer.play(FIRST);
    peer.welcome("", false).end();
    assertEquals(Optional.empty(), bot.end());
  }

  private static ConnectionException failure(Playing bot) throws InterruptedException {
    return assertInstanceOf(ConnectionException.class, bot.end().orElseThrow());
  }

  private static void assertMessage(String part, Playing bot) throws InterruptedException {
    String message = failure(bot).getMessage();
    assertTrue(message.contains(part), message);
  }
}
