package dev.happycity;

import com.google.protobuf.InvalidProtocolBufferException;
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
import io.grpc.Status;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import java.io.UncheckedIOException;
import java.lang.System.Logger.Level;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** One stream after the other, until one of them ends for good. */
final class Session {
  private static final int WELCOME_SECONDS = 20; // for the answer to the hello
  private static final int GOODBYE_SECONDS = 5; // for the end of the stream after a goodbye
  private static final System.Logger LOG = System.getLogger("dev.happycity");

  private final Server server;
  private final Pauses pauses;
  private final Player player;
  private Hello hello; // with the token of the last welcome, if there was one
  private boolean shutDown; // whether the server has said since then that it shuts down

  /** Throws a {@link HappyCityException} if a setting can't be used. */
  Session(Settings settings, Player player) {
    server = settings.server();
    hello = settings.hello();
    pauses = new Pauses(settings.reconnect);
    this.player = player;
  }

  /** Plays until a stream ends normally, or the server has shut down. */
  void run() throws InterruptedException {
    while (true) {
      Stream stream = new Stream();
      try {
        stream.run();
        return;
      } catch (HappyCityException error) {
        shutDown |= error.reason().equals("SHUTTING_DOWN");
        if (error.retryMillis == null || !hello.hasResumeToken()) {
          throw error;
        }
        long now = TimeUnit.NANOSECONDS.toMillis(System.nanoTime());
        double share = ThreadLocalRandom.current().nextDouble();
        Long pause = pauses.next(now, stream.messages, error.retryMillis, share);
        if (pause == null) {
          throwUnlessShutDown(error, TimeUnit.MILLISECONDS.toSeconds(now - pauses.lostAt));
          return;
        }
        if (stream.messages > 0) {
          LOG.log(Level.WARNING, error.getMessage() + "; trying again");
        }
        Thread.sleep(pause);
      }
    }
  }

  /** Ends the search for a server that is lost since some seconds. */
  private void throwUnlessShutDown(HappyCityException error, long seconds) {
    if (shutDown) {
      LOG.log(Level.INFO, "the server has shut down");
    } else if (seconds == 0) {
      throw error;
    } else {
      String text = "no connection to %s for %d s: %s";
      text = text.formatted(server.address(), seconds, error.getMessage());
      throw new HappyCityException(text, error.reason(), 2, null);
    }
  }

  /** A stream on a connection of its own. gRPC calls it with the server's messages. */
  private final class Stream implements ClientResponseObserver<PlayRequest, PlayResponse> {
    /** Completed by the welcome, if there is one. */
    private final CompletableFuture<Void> welcomed = new CompletableFuture<>();

    /** Completed by the end, with an error unless it is regular. */
    private final CompletableFuture<Void> ending = new CompletableFuture<>();

    private ClientCallStreamObserver<PlayRequest> call;
    private volatile int messages; // how many came
    private boolean closed; // whether the goodbye was sent, after which nothing may be

    /** Plays until the stream ends normally. An interrupted thread says goodbye first. */
    void run() throws InterruptedException {
      ManagedChannel channel = server.newChannel();
      try {
        PlayServiceGrpc.newStub(channel).play(this);
        send(PlayRequest.newBuilder().setHello(hello).build());
        CompletableFuture.anyOf(welcomed, ending).get(WELCOME_SECONDS, TimeUnit.SECONDS);
        ending.get();
      } catch (ExecutionException e) {
        throw server.explain(e.getCause(), welcomed.isDone());
      } catch (TimeoutException e) {
        Status status =
            Status.UNAVAILABLE.withDescription("no welcome within " + WELCOME_SECONDS + " s");
        throw server.explain(status.asException(), false);
      } catch (InterruptedException e) {
        player.close();
        sayGoodbye();
        channel.shutdown().awaitTermination(GOODBYE_SECONDS, TimeUnit.SECONDS);
        throw e;
      } finally {
        channel.shutdownNow();
      }
    }

    private synchronized void send(PlayRequest batch) {
      if (!closed) {
        call.onNext(batch);
      }
    }

    private synchronized void sayGoodbye() {
      send(PlayRequest.newBuilder().setGoodbye(Goodbye.getDefaultInstance()).build());
      call.onCompleted();
      closed = true;
    }

    @Override
    public void beforeStart(ClientCallStreamObserver<PlayRequest> call) {
      this.call = call;
    }

    /** Handles a batch. It never waits for a bot, so pings are answered while bots think. */
    @Override
    public void onNext(PlayResponse batch) {
      if (batch.hasPing()) {
        Pong pong = Pong.newBuilder().setNonce(batch.getPing().getNonce()).build();
        send(PlayRequest.newBuilder().setPong(pong).build());
      }
      if (!welcomed.isDone()) {
        if (!batch.hasWelcome()) {
          throw new UncheckedIOException(
              new InvalidProtocolBufferException("its first message has no welcome"));
        }
        greet(batch.getWelcome());
        player.welcome(batch.getWelcome().getMatchIdsList(), this::send);
        welcomed.complete(null);
      }
      messages++; // gRPC calls for one message after the other
      for (Decision decision : batch.getDecisionsList()) {
        if (!decision.hasView() || decision.getMovesCount() == 0) {
          throw new UncheckedIOException(
              new InvalidProtocolBufferException("a decision without a view or without moves"));
        }
      }
      batch.getNoticesList().forEach(Session.this::log);
      player.handle(batch);
    }

    @Override
    public void onError(Throwable error) {
      ending.completeExceptionally(error);
    }

    @Override
    public void onCompleted() {
      ending.complete(null);
    }
  }

  private void greet(Welcome welcome) {
    hello = hello.toBuilder().setResumeToken(welcome.getResumeToken()).build();
    shutDown = false;
    String how = welcome.getMatchIdsCount() > 0 ? ", and the games go on" : "";
    LOG.log(Level.INFO, "connected to " + server.address() + how);
    if (!welcome.getCatalogueDigest().equals(Cards.CATALOGUE.getDigest())) {
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
