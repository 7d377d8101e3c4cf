package dev.happycity;

import static dev.happycity.Dialogue.decision;
import static dev.happycity.Within.within;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.happycity.v1.BotInfo;
import dev.happycity.v1.Hello;
import dev.happycity.v1.PlayResponse;
import io.grpc.Status;
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

  /** The hello says who is calling, and the token travels as a bearer token. */
  @Test
  void hello() throws InterruptedException {
    BotInfo info = BotInfo.newBuilder().setAuthor("Ann").setVersion("1.2").build();
    peer.play(FIRST, peer.settings().name("me").token("secret").games(3).info(info));
    Dialogue dialogue = peer.accept();
    Hello expected =
        Hello.newBuilder()
            .setName("me")
            .setMaxGames(3)
            .setSoftware("happycity-java/" + HappyCity.VERSION)
            .setInfo(info.toBuilder().setLanguage("Java " + Runtime.version().feature()))
            .build();
    assertEquals(expected, dialogue.hello);
    assertEquals("Bearer secret", dialogue.authorization);
  }

  /** Any number of games is no number on the wire, and without a token nothing is authorized. */
  @Test
  void helloOfAnOpenServer() throws InterruptedException {
    peer.play(FIRST, peer.settings().games(Settings.UNLIMITED));
    Dialogue dialogue = peer.accept();
    assertFalse(dialogue.hello.hasMaxGames());
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
    peer.accept().refuse(code, reason);
    ConnectionException refused = failure(bot);
    assertEquals(code, refused.code());
    assertEquals(reason, refused.reason());
    assertEquals(peer.address() + " ended the session of \"tester\": no", refused.getMessage());
    assertTrue(peer.opened.isEmpty(), "it tried again");
  }

  /** A server that doesn't welcome the bot can't be played on. */
  @Test
  void noWelcome() throws InterruptedException {
    Playing bot = peer.play(FIRST);
    peer.accept().send(PlayResponse.newBuilder());
    assertMessage("its first message is no welcome; is it a Happy City server?", bot);
  }

  /** Without a server the bot ends at once, and says what to do. */
  @Test
  void noServer() throws InterruptedException {
    assertMessage("happycity serve", peer.play(FIRST, peer.settings().server("127.0.0.1:1")));
  }

  /** A bot that waits for its server ends when it is stopped meanwhile. */
  @Test
  void stoppedWhileSearching() throws InterruptedException {
    Settings.Builder settings = peer.settings().server("127.0.0.1:1");
    Playing bot = peer.play(FIRST, settings.wait(Settings.DEFAULT_RECONNECT));
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

  /** A bot that thinks when it is stopped is interrupted, and doesn't delay the goodbye. */
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
