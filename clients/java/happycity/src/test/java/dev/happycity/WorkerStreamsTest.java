package dev.happycity;

import static dev.happycity.Dialogue.decision;
import static dev.happycity.Within.within;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.happycity.v1.Welcome;
import io.grpc.Status;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The streams to the workers that the server's welcome names. */
class WorkerStreamsTest {
  private static final BotFactory FIRST = BotFactory.stateless(decision -> 0);

  private final List<Peer> peers = new ArrayList<>();
  private final Peer server = newPeer();

  @AfterEach
  void close() {
    peers.forEach(Peer::close);
  }

  private Peer newPeer() {
    Peer peer = new Peer();
    peers.add(peer);
    return peer;
  }

  /** Returns the settings of a bot that plays any number of games. */
  private Settings.Builder settings() {
    return server.settings().games(Settings.UNLIMITED);
  }

  /** Returns a welcome that names the workers at these peers. */
  private static Welcome.Builder naming(Peer... workers) {
    Welcome.Builder welcome = Welcome.newBuilder().setResumeToken("of the server");
    for (Peer worker : workers) {
      welcome.addWorkerAddresses(worker.address());
    }
    return welcome;
  }

  /**
   * A bot that plays any number of games plays at the workers too, under the same name and with the
   * same token. Each game has a bot of its own, wherever it is played.
   */
  @Test
  void playsAtAll() throws InterruptedException {
    List<Peer> workers = List.of(newPeer(), newPeer());
    server.play(Counter.FACTORY, settings().name("me").token("secret"));
    List<Dialogue> streams = new ArrayList<>();
    streams.add(server.welcome(naming(workers.get(0), workers.get(1))));
    for (Peer worker : workers) {
      Dialogue dialogue = worker.welcome("", false);
      assertEquals("me", dialogue.hello.getName());
      assertEquals("", dialogue.hello.getResumeToken());
      assertFalse(dialogue.hello.hasMaxGames());
      assertEquals("Bearer secret", dialogue.authorization);
      streams.add(dialogue);
    }
    for (int id = 0; id < streams.size(); id++) {
      streams.get(id).start(id);
    }
    for (int round = 0; round < 3; round++) {
      for (int id = 0; id < streams.size(); id++) {
        streams.get(id).ask(decision(id, round + 1));
      }
      for (int id = 0; id < streams.size(); id++) {
        assertEquals(Map.of((long) id, round), streams.get(id).answers());
      }
    }
  }

  /** A lost stream is resumed with its own token and its own games, at a worker and the server. */
  @Test
  void resumes() throws InterruptedException {
    Peer worker = newPeer();
    server.play(FIRST, settings());
    Dialogue atServer = server.welcome(naming(worker));
    Dialogue atWorker = worker.welcome("of the worker", false);
    atServer.start(1);
    atWorker.start(2);
    atServer.expectSilence();
    atWorker.expectSilence();
    atWorker.cut();
    atWorker = worker.accept();
    assertEquals("of the worker", atWorker.hello.getResumeToken());
    assertEquals(List.of(2L), atWorker.hello.getMatchIdsList());
    atServer.cut();
    atServer = server.accept();
    assertEquals("of the server", atServer.hello.getResumeToken());
    assertEquals(List.of(1L), atServer.hello.getMatchIdsList());
  }

  /**
   * The bot leaves a worker that the next welcome doesn't name, stays at one that it names again,
   * and comes back to one that ended its stream.
   */
  @Test
  void laterWelcome() throws InterruptedException {
    Peer left = newPeer();
    Peer kept = newPeer();
    Peer ended = newPeer();
    server.play(FIRST, settings());
    Dialogue atServer = server.welcome(naming(left, kept, ended));
    Dialogue atLeft = left.welcome("", false);
    Dialogue atKept = kept.welcome("", false);
    ended.welcome("", false).end();
    while (ended.opened.isEmpty()) { // the bot may get a welcome before it learns of that end
      atServer.expectSilence();
      atServer.cut();
      atServer = server.welcome(naming(kept, ended));
    }
    assertTrue(atLeft.next().hasGoodbye());
    ended.accept();
    atKept.expectSilence();
    assertTrue(kept.opened.isEmpty(), "a second stream to the same worker");
  }

  /**
   * A worker that can't be reached, one that refuses the bot, and one to which its token would
   * travel unencrypted are no reason to leave the server.
   */
  @Test
  void lostWorkers() throws InterruptedException {
    Peer refusing = newPeer();
    Playing bot = server.play(FIRST, settings().token("secret"));
    Welcome.Builder welcome = naming(refusing);
    welcome.addWorkerAddresses("127.0.0.1:1").addWorkerAddresses("192.0.2.1:1");
    Dialogue atServer = server.welcome(welcome);
    refusing.accept().refuse(Status.Code.PERMISSION_DENIED, "WRONG_NAME");
    atServer.start(1);
    atServer.ask(decision(1, 1));
    assertEquals(Map.of(1L, 0), atServer.answers());
    atServer.end();
    assertEquals(Optional.empty(), bot.end());
    assertTrue(refusing.opened.isEmpty(), "it tried again");
  }

  /** The streams to workers end when the bot is stopped. */
  @Test
  void stopped() throws InterruptedException {
    Peer worker = newPeer();
    Playing bot = server.play(FIRST, settings());
    Dialogue atServer = server.welcome(naming(worker));
    Dialogue atWorker = worker.welcome("", false);
    atServer.expectSilence();
    atWorker.expectSilence();
    bot.stop();
    assertTrue(atServer.next().hasGoodbye());
    assertTrue(atWorker.next().hasGoodbye());
    assertInstanceOf(InterruptedException.class, bot.end().orElseThrow());
  }

  /** The streams to workers end when the one to the server ends. */
  @Test
  void serverEnds() throws InterruptedException {
    Peer worker = newPeer();
    Playing bot = server.play(FIRST, settings());
    Dialogue atServer = server.welcome(naming(worker));
    Dialogue atWorker = worker.welcome("", false);
    atWorker.expectSilence();
    atServer.refuse(Status.Code.ABORTED, "REPLACED");
    assertTrue(atWorker.next().hasGoodbye());
    assertInstanceOf(ConnectionException.class, bot.end().orElseThrow());
  }

  /** A bot with a maximum number of games opens no streams: it holds for all games together. */
  @ParameterizedTest
  @CsvSource({"8, 0", "0, 2"})
  void maximum(int games, int expected) throws InterruptedException {
    BlockingQueue<String> played = new LinkedBlockingQueue<>();
    Settings settings = server.settings().games(games).build(Map.of());
    WorkerStreams workers = new WorkerStreams(settings, ofWorker -> played.add(ofWorker.server()));
    workers.follow(List.of("one:1", "two:2"));
    workers.close();
    assertEquals(expected, played.size(), played::toString);
  }

  /** No more bots think at once than the settings say, at all servers together. */
  @Test
  void thinkers() throws InterruptedException {
    Peer worker = newPeer();
    Thinker thinker = new Thinker();
    server.play(BotFactory.stateless(thinker), settings().thinkers(1));
    Dialogue atServer = server.welcome(naming(worker));
    Dialogue atWorker = worker.welcome("", false);
    atServer.start(1);
    atServer.ask(decision(1, 1));
    Thinker.Question question = within(thinker.asked, "question");
    atWorker.start(2);
    atWorker.ask(decision(2, 1));
    atWorker.expectSilence();
    assertTrue(thinker.asked.isEmpty(), "two bots think at once");
    question.answer().complete(1);
    assertEquals(Map.of(1L, 1), atServer.answers());
    within(thinker.asked, "question").answer().complete(2);
    assertEquals(Map.of(2L, 2), atWorker.answers());
  }
}
