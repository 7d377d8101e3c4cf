package dev.happycity;

import dev.happycity.v1.Decision;
import dev.happycity.v1.Goodbye;
import dev.happycity.v1.Hello;
import dev.happycity.v1.Notice;
import dev.happycity.v1.NoticeKind;
import dev.happycity.v1.PlayRequest;
import dev.happycity.v1.PlayResponse;
import dev.happycity.v1.PlayServiceGrpc;
import dev.happycity.v1.Pong;
import dev.happycity.v1.Welcome;
import io.grpc.ManagedChannel;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** One stream after the other, until one of them ends for good. */
final class Session {
  private static final int PROTOCOL_VERSION = 1;

  /** How long the server may take to answer the hello. */
  private static final int WELCOME_SECONDS = 20;

  /** How long the server may take to end the stream after a goodbye. */
  private static final int GOODBYE_SECONDS = 1;

  private static final long FIRST_PAUSE_MILLIS = 100;
  private static final long LONGEST_PAUSE_MILLIS = 5000;
  private static final System.Logger LOG = System.getLogger("dev.happycity");

  private final Server server;
  private final Duration reconnect;
  private final Player player;
  private Hello hello; // with the token of the last welcome
  private boolean known; // whether there was a welcome
  private boolean shutDown; // whether the server said that it shuts down
  private boolean searching; // whether it was logged that the server is gone
  private long deadline; // in System.nanoTime, when the search for a server ends
  private long pauseBound = FIRST_PAUSE_MILLIS;

  /** Throws a {@link HappyCityException} if a setting can't be used. */
  Session(Settings settings, Player player) {
    server = settings.server();
    hello = settings.hello();
    reconnect = settings.reconnect;
    deadline = System.nanoTime() + settings.wait.toNanos();
    this.player = player;
  }

  /** Plays until a stream ends in good order, or the server has shut down. */
  void run() throws InterruptedException {
    Optional<Failure> ending;
    while ((ending = new Stream().run()).isPresent()) {
      Failure failure = ending.get();
      shutDown |= failure.error().reason().equals("SHUTTING_DOWN");
      long timeLeft = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
      if (!failure.retryable()) {
        throw failure.error();
      }
      if (failure.delayMillis() >= timeLeft) {
        giveUp(failure.error());
        return;
      }
      if (!searching) {
        LOG.log(Level.WARNING, failure.error().getMessage() + "; trying again");
        searching = true;
      }
      Thread.sleep(Math.max(failure.delayMillis(), Math.min(nextPause(), timeLeft)));
    }
  }

  /** Returns a random share of a bound that doubles: bots that were lost together spread out. */
  private long nextPause() {
    long pause = ThreadLocalRandom.current().nextLong(pauseBound);
    pauseBound = Math.min(2 * pauseBound, LONGEST_PAUSE_MILLIS);
    return pause;
  }

  /** Ends the search for a server. It is not an error if the server has shut down. */
  private void giveUp(HappyCityException error) {
    if (!known) {
      throw error;
    }
    if (!shutDown) {
      String text = "no connection to %s for %d s: %s";
      throw new HappyCityException(
          text.formatted(server, reconnect.toSeconds(), error.getMessage()), error.reason(), 2);
    }
    LOG.log(Level.INFO, "the server has shut down");
  }

  /**
   * A stream on a connection of its own. gRPC calls it with the server's messages; {@link #run}
   * reads what these calls note when the stream has ended.
   */
  private final class Stream implements ClientResponseObserver<PlayRequest, PlayResponse> {
    /** Completed by the welcome, or with false by an end without one. */
    private final CompletableFuture<Boolean> welcomed = new CompletableFuture<>();

    /** Completed by the end, with an error unless it is in good order. */
    private final CompletableFuture<Void> ending = new CompletableFuture<>();

    private ClientCallStreamObserver<PlayRequest> call;
    private boolean closed; // nothing is sent any more

    /**
     * Plays until the stream ends, and returns how it failed; empty if it ended in good order.
     *
     * @throws InterruptedException if the thread is interrupted; the goodbye has been said then
     */
    Optional<Failure> run() throws InterruptedException {
      ManagedChannel channel = server.newChannel();
      try {
        PlayServiceGrpc.newStub(channel).play(this);
        send(PlayRequest.newBuilder().setHello(hello).build());
        welcomed.get(WELCOME_SECONDS, TimeUnit.SECONDS);
        ending.get();
        return Optional.empty();
      } catch (ExecutionException e) {
        return Optional.of(Failure.of(e.getCause(), server, welcomed.join(), known));
      } catch (TimeoutException e) {
        String text = "no welcome within %d s".formatted(WELCOME_SECONDS);
        return Optional.of(Failure.of(new IOException(text), server, false, known));
      } catch (InterruptedException e) {
        leave();
        throw e;
      } finally {
        end(null);
        channel.shutdownNow();
        if (welcomed.join()) {
          deadline = System.nanoTime() + reconnect.toNanos();
        }
      }
    }

    /** Says goodbye, if the server knows the bot. */
    private void leave() throws InterruptedException {
      if (!welcomed.getNow(false)) {
        return;
      }
      player.close();
      send(PlayRequest.newBuilder().setGoodbye(Goodbye.getDefaultInstance()).build());
      try {
        ending.get(GOODBYE_SECONDS, TimeUnit.SECONDS);
      } catch (TimeoutException | ExecutionException e) {
        // the bot leaves in any case
      }
    }

    @Override
    public void beforeStart(ClientCallStreamObserver<PlayRequest> call) {
      this.call = call;
    }

    private synchronized void send(PlayRequest batch) {
      if (closed) {
        return;
      }
      call.onNext(batch);
      if (batch.hasGoodbye()) {
        closed = true;
        call.onCompleted();
      }
    }

    /** Handles a batch. It never waits for a bot, so pings are answered while bots think. */
    @Override
    public void onNext(PlayResponse batch) {
      if (ending.isDone()) {
        return;
      }
      if (batch.hasPing()) {
        Pong pong = Pong.newBuilder().setNonce(batch.getPing().getNonce()).build();
        send(PlayRequest.newBuilder().setPong(pong).build());
      }
      if (welcomed.isDone()) {
        pauseBound = FIRST_PAUSE_MILLIS; // a server that only welcomes bots is not hammered
      } else if (batch.hasWelcome()) {
        greet(batch.getWelcome());
        player.welcome(batch.getWelcome().getMatchIdsList(), this::send);
        welcomed.complete(true);
      } else {
        end(HappyCityException.brokenProtocol(server, "its first message has no welcome"));
        return;
      }
      for (Decision decision : batch.getDecisionsList()) {
        if (!decision.hasView() || decision.getMovesCount() == 0) {
          String what = "a decision without a view or without moves";
          end(HappyCityException.brokenProtocol(server, what));
          return;
        }
      }
      batch.getNoticesList().forEach(Session.this::log);
      player.handle(batch);
    }

    @Override
    public void onError(Throwable error) {
      end(error);
    }

    @Override
    public void onCompleted() {
      end(null);
    }

    /** Notes the end, which has an error unless it is in good order. */
    private synchronized void end(Throwable error) {
      closed = true;
      if (error == null) {
        ending.complete(null);
      } else {
        ending.completeExceptionally(error);
      }
      welcomed.complete(false);
    }
  }

  private void greet(Welcome welcome) {
    known = true;
    hello = hello.toBuilder().setResumeToken(welcome.getResumeToken()).build();
    shutDown = false;
    searching = false;
    String how = welcome.getMatchIdsCount() > 0 ? ", and the games go on" : "";
    LOG.log(Level.INFO, "connected to " + server + how);
    int version = welcome.getProtocolVersion();
    if (version > PROTOCOL_VERSION) {
      String text =
          "the server speaks protocol version %d, this SDK version %d: what is new is left out";
      LOG.log(Level.WARNING, text.formatted(version, PROTOCOL_VERSION));
    }
    if (!welcome.getCatalogueDigest().equals(Cards.digest())) {
      String text = "the server's cards are not those of this SDK: some are new or changed";
      LOG.log(Level.WARNING, text);
    }
  }

  private void log(Notice notice) {
    shutDown |= notice.getKind() == NoticeKind.NOTICE_KIND_SHUTDOWN;
    if (notice.getKind() != NoticeKind.NOTICE_KIND_FORFEIT) { // the game's end says it
      String where = Player.where(notice.getMatchId(), notice.getRound(), notice.getDecisionId());
      String text = HappyCityException.oneLine(notice.getText());
      LOG.log(Level.WARNING, where.isEmpty() ? text : where + ": " + text);
    }
  }
}
