package dev.happycity;

import dev.happycity.v1.Answer;
import dev.happycity.v1.Ending;
import dev.happycity.v1.GameOver;
import dev.happycity.v1.GameStarted;
import dev.happycity.v1.MatchResult;
import dev.happycity.v1.PlayResponse;
import dev.happycity.v1.Resign;
import dev.happycity.v1.SeatResult;
import dev.happycity.v1.VoidReason;
import java.lang.System.Logger.Level;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledExecutorService;
import java.util.stream.Stream;

/**
 * Plays all games of one bot. They outlive the connection: it may be lost and resumed.
 *
 * <p>Each decision is put to the bot once. If the server sends it again, after a lost connection,
 * the answer comes from memory: asking twice would advance the bot's randomness.
 */
final class Player {
  private static final System.Logger LOG = System.getLogger("dev.happycity");

  private final CrashLog crashes = new CrashLog(LOG);
  private final BotFactory factory;
  private final Executor thinkers;
  private final Alarm lateness; // set to the deadline of the first late decision, or before
  private final Map<Seat.Id, Seat> seats = new HashMap<>();
  private final Map<Seat.Id, Resign> resigned = new HashMap<>(); // until the game's end arrives
  private Outbox out; // of the present connection; null while there is none
  private int due; // how many answers that connection's server waits for
  private boolean closed;

  Player(BotFactory factory, Executor thinkers, ScheduledExecutorService clock) {
    this.factory = factory;
    this.thinkers = thinkers;
    this.lateness = new Alarm(clock, this::interruptLate);
  }

  /** Returns the matches that run as far as the bot knows. */
  synchronized List<Long> matchIds() {
    return Stream.concat(seats.keySet().stream(), resigned.keySet().stream())
        .map(Seat.Id::matchId)
        .distinct()
        .toList();
  }

  /** Notes that a server took the bot in; the games go on only if it says so. */
  synchronized void welcome(Outbox out, boolean resumed) {
    if (closed) {
      return;
    }
    this.out = out;
    if (resumed) {
      resigned.values().forEach(out::resign);
    } else {
      resigned.clear();
      List.copyOf(seats.values()).forEach(this::voidGame);
    }
  }

  /** Notes that the connection is lost: what was not sent is sent only if it is asked for again. */
  synchronized void disconnect() {
    out = null;
    due = 0;
    seats.values().forEach(seat -> seat.answerDue = false);
  }

  /** Ends all thinking, and logs how often the bot crashed; it gets no decision after that. */
  synchronized void close() {
    crashes.close();
    closed = true;
    lateness.clear();
    seats.values().forEach(this::stopThinking);
  }

  /**
   * Handles a batch, in the order that the contract demands. It never waits for a bot.
   *
   * <p>No bot's choice comes in between, so that the answers to half of a batch are not sent on
   * their own.
   */
  synchronized void handle(PlayResponse batch) {
    if (closed) {
      return;
    }
    batch.getGamesStartedList().forEach(this::start);
    batch.getDecisionsList().forEach(this::decide);
    batch.getGamesOverList().forEach(this::end);
    flushIfComplete();
  }

  /** Begins a game in one seat, or starts it over if it runs already. */
  private void start(GameStarted started) {
    Seat.Id id = new Seat.Id(started.getMatchId(), started.getSeat());
    Seat older = seats.get(id);
    if (older != null) {
      voidGame(older);
    }
    resigned.remove(id);
    Seat seat = new Seat(id, thinkers);
    seats.put(id, seat);
    seat.tasks.add(() -> makeBot(seat, started));
  }

  private void makeBot(Seat seat, GameStarted started) {
    try {
      seat.makeBot(factory, started);
    } catch (Throwable e) { // the author's code; even a StackOverflowError ends one game only
      crash(seat, e);
    }
  }

  /** Has a decision answered: by the bot, or from memory if the server sends it again. */
  private void decide(dev.happycity.v1.Decision message) {
    Seat.Id id = new Seat.Id(message.getMatchId(), message.getView().getSeat());
    Seat seat = seats.get(id);
    if (seat == null) {
      if (!resigned.containsKey(id)) {
        LOG.log(Level.WARNING, "match " + id.matchId() + ": a decision of an unknown game");
      }
      return;
    }
    int order = Integer.compareUnsigned(message.getDecisionId(), seat.asked);
    if (order < 0) {
      return; // settled long ago
    }
    if (order == 0 && seat.answer != null) {
      out.answer(seat.answer);
    } else if (order == 0 && seat.decision != null) {
      expectAnswer(seat);
    } else {
      ask(seat, Decision.of(message));
    }
  }

  /** Puts a decision to a bot. The clock has settled whatever it still thinks about. */
  private void ask(Seat seat, Decision decision) {
    stopThinking(seat);
    seat.asked = decision.decisionId();
    seat.round = decision.view().getRound();
    seat.decision = decision;
    seat.answer = null;
    expectAnswer(seat);
    seat.tasks.add(() -> think(seat, decision));
  }

  /** Answers a decision, unless it is of no use any more or late before its turn comes. */
  private void think(Seat seat, Decision decision) {
    if (!seat.hasBot()) {
      return;
    }
    Answer answer = null;
    Throwable failure = null;
    if (begin(seat, decision)) {
      try {
        answer = seat.choose(decision);
      } catch (Throwable e) { // the author's code
        failure = e;
      }
    }
    finish(seat, decision, answer, failure);
  }

  private synchronized boolean begin(Seat seat, Decision decision) {
    if (closed || seat.decision != decision || decision.isLate()) {
      return false;
    }
    decision.begin();
    if (decision.isLimited()) {
      lateness.setNoLaterThan(decision.deadline());
    }
    return true;
  }

  private synchronized void finish(Seat seat, Decision decision, Answer answer, Throwable failure) {
    decision.end();
    if (closed || seat.decision != decision) {
      return;
    }
    if (answer != null) {
      settle(seat, answer);
    } else if (decision.isLate()) {
      stopThinking(seat);
      LOG.log(Level.WARNING, seat.place() + ": the bot had no answer in time");
      flushIfComplete();
    } else {
      crash(seat, failure);
    }
  }

  /** Notes a bot's answer, and sends it if the server waits for it. */
  private void settle(Seat seat, Answer answer) {
    seat.decision = null;
    seat.answer = answer;
    if (seat.answerDue) {
      expectNothing(seat);
      out.answer(answer);
      flushIfComplete();
    }
  }

  /** Gives up a game in which the bot crashed; its other games go on. */
  private synchronized void crash(Seat seat, Throwable failure) {
    if (seat.over) {
      return;
    }
    String what = "the bot crashed, the game is given up";
    crashes.add(what, seat.id.matchId(), seat.place(), failure);
    leave(seat);
    Resign resign =
        Resign.newBuilder()
            .setMatchId(seat.id.matchId())
            .setSeat(seat.id.seat())
            .setCrashed(true)
            .setReason(Crash.reasonOf(failure))
            .build();
    resigned.put(seat.id, resign);
    if (out != null) {
      out.resign(resign);
    }
  }

  /** Interrupts the bots that are late, and sets the alarm for those that will be. */
  private synchronized void interruptLate() {
    for (Seat seat : seats.values()) {
      Decision decision = seat.decision;
      if (decision == null || !decision.isLimited() || !decision.isThoughtAbout()) {
        continue;
      }
      if (decision.isLate()) {
        decision.interrupt();
      } else {
        lateness.setNoLaterThan(decision.deadline());
      }
    }
  }

  /** Ends a match: in every seat that the bot has there, the game is over or voided. */
  private void end(GameOver over) {
    out.forget(over.getMatchId());
    resigned.keySet().removeIf(id -> id.matchId() == over.getMatchId());
    for (Seat seat : List.copyOf(seats.values())) {
      if (seat.id.matchId() == over.getMatchId()) {
        logForfeit(seat, over.getResult());
        end(seat, over);
      }
    }
  }

  /** Logs that the server gave a seat up, if it did. */
  private static void logForfeit(Seat seat, MatchResult result) {
    int number = seat.id.seat();
    if (number < 0 || number >= result.getSeatsCount()) {
      return;
    }
    SeatResult own = result.getSeats(number);
    if (own.getEndingValue() <= Ending.ENDING_FINISHED_VALUE) {
      return;
    }
    String ending = own.getEnding().name().replaceFirst("ENDING_", "").toLowerCase(Locale.ROOT);
    String reason = own.getReason().isEmpty() ? "" : ": " + OneLine.of(own.getReason());
    LOG.log(Level.WARNING, seat.place() + ": the seat was forfeited: " + ending + reason);
  }

  /** Ends a game that the server doesn't know any more, or starts over. */
  private void voidGame(Seat seat) {
    end(
        seat,
        GameOver.newBuilder()
            .setMatchId(seat.id.matchId())
            .setVoidReason(VoidReason.VOID_REASON_UNKNOWN)
            .build());
  }

  private void end(Seat seat, GameOver over) {
    leave(seat);
    seat.tasks.add(() -> letEnd(seat, over));
  }

  private void letEnd(Seat seat, GameOver over) {
    if (!seat.hasBot()) {
      return;
    }
    try {
      seat.end(over);
    } catch (Throwable e) { // the author's code
      crashes.add("the bot crashed after its game", seat.id.matchId(), seat.place(), e);
    }
  }

  private void leave(Seat seat) {
    stopThinking(seat);
    seat.over = true;
    seats.remove(seat.id);
  }

  /** Makes void what the bot thinks about. */
  private void stopThinking(Seat seat) {
    if (seat.decision != null) {
      seat.decision.interrupt();
      seat.decision = null;
    }
    expectNothing(seat);
  }

  private void expectAnswer(Seat seat) {
    if (!seat.answerDue) {
      seat.answerDue = true;
      due++;
    }
  }

  private void expectNothing(Seat seat) {
    if (seat.answerDue) {
      seat.answerDue = false;
      due--;
    }
  }

  /** Sends the answers that have gathered, if the server waits for no other. */
  private void flushIfComplete() {
    if (due == 0 && out != null) {
      out.flush();
    }
  }
}
