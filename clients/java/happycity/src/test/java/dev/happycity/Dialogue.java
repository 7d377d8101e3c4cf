package dev.happycity;

import static dev.happycity.Within.within;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.happycity.v1.Answer;
import dev.happycity.v1.Decision;
import dev.happycity.v1.GameStarted;
import dev.happycity.v1.Hello;
import dev.happycity.v1.Move;
import dev.happycity.v1.Ping;
import dev.happycity.v1.PlayRequest;
import dev.happycity.v1.PlayResponse;
import dev.happycity.v1.Pong;
import dev.happycity.v1.View;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/** The server's end of a stream. */
final class Dialogue implements StreamObserver<PlayRequest> {
  /** What is received last, when the bot closed its side. */
  static final PlayRequest END = PlayRequest.newBuilder().build();

  private static final long NONCE = (1L << 60) + 1;

  Hello hello;
  final String authorization;
  private final StreamObserver<PlayResponse> responses;
  private final BlockingQueue<PlayRequest> received = new LinkedBlockingQueue<>();

  Dialogue(StreamObserver<PlayResponse> responses, String authorization) {
    this.responses = responses;
    this.authorization = authorization;
  }

  /** Returns a decision of seat 0 between three moves. */
  static Decision decision(long matchId, int decisionId) {
    return decision(matchId, 0, decisionId);
  }

  static Decision decision(long matchId, int seat, int decisionId) {
    return Decision.newBuilder()
        .setMatchId(matchId)
        .setDecisionId(decisionId)
        .setView(View.newBuilder().setSeat(seat))
        .addAllMoves(Collections.nCopies(3, Move.getDefaultInstance()))
        .build();
  }

  @Override
  public void onNext(PlayRequest request) {
    received.add(request);
  }

  @Override
  public void onCompleted() {
    received.add(END);
    responses.onCompleted();
  }

  @Override
  public void onError(Throwable error) {
    received.add(END);
  }

  void send(PlayResponse.Builder batch) {
    responses.onNext(batch.build());
  }

  /** Sends decisions in one batch. */
  void ask(Decision... decisions) {
    send(PlayResponse.newBuilder().addAllDecisions(List.of(decisions)));
  }

  /** Begins games in one batch. */
  void start(long... ids) {
    PlayResponse.Builder batch = PlayResponse.newBuilder();
    for (long id : ids) {
      batch.addGamesStarted(started(id, 0));
    }
    send(batch);
  }

  static GameStarted started(long matchId, int seat) {
    return GameStarted.newBuilder()
        .setMatchId(matchId)
        .setSeat(seat)
        .addBots("a")
        .addBots("b")
        .setSeed(matchId)
        .build();
  }

  /** Returns the bot's next message. */
  PlayRequest next() throws InterruptedException {
    return within(received, "message");
  }

  /** Returns the bot's next answers, of so many games, in one message or several. */
  Map<Long, Integer> answers(int games) throws InterruptedException {
    Map<Long, Integer> moves = answers();
    while (moves.size() < games) {
      moves.putAll(answers());
    }
    return moves;
  }

  /** Returns the bot's next message, which holds answers and nothing else, as moves by match. */
  Map<Long, Integer> answers() throws InterruptedException {
    PlayRequest request = next();
    Map<Long, Integer> moves = new HashMap<>();
    for (Answer answer : request.getAnswersList()) {
      moves.put(answer.getMatchId(), answer.getMove());
    }
    PlayRequest rest = request.toBuilder().clearAnswers().build();
    assertEquals(PlayRequest.getDefaultInstance(), rest, "more than answers");
    return moves;
  }

  /** Returns the metrics of the bot's next message, which holds one answer, by their names. */
  Map<String, Double> metrics() throws InterruptedException {
    List<Answer> answers = next().getAnswersList();
    assertEquals(1, answers.size(), "not one answer");
    return answers.get(0).getMetricsMap();
  }

  /** Sends a ping, and returns what the bot sent before the pong, that included. */
  List<PlayRequest> pause() throws InterruptedException {
    send(PlayResponse.newBuilder().setPing(Ping.newBuilder().setNonce(NONCE)));
    List<PlayRequest> sent = new ArrayList<>();
    do {
      sent.add(next());
    } while (sent.get(sent.size() - 1).getPong().getNonce() != NONCE);
    return sent;
  }

  /** Checks that the bot sends nothing before it answers a ping. */
  void expectSilence() throws InterruptedException {
    PlayRequest pong = PlayRequest.newBuilder().setPong(Pong.newBuilder().setNonce(NONCE)).build();
    assertEquals(List.of(pong), pause());
  }

  /** Ends the stream in good order. */
  void end() {
    responses.onCompleted();
  }

  /** Ends the stream as a network failure does. */
  void cut() {
    fail(Status.UNAVAILABLE.withDescription("connection reset").asRuntimeException());
  }

  /** Ends the stream with an error. */
  void fail(Throwable error) {
    responses.onError(error);
  }

  /** Ends the stream with a reason. */
  void refuse(Status.Code code, String reason) {
    fail(Refusal.of(code, reason));
  }
}
