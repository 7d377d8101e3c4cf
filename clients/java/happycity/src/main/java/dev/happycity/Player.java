package dev.happycity;

import dev.happycity.v1.Answer;
import dev.happycity.v1.Ending;
import dev.happycity.v1.GameOver;
import dev.happycity.v1.GameStarted;
import dev.happycity.v1.PlayRequest;
import dev.happycity.v1.PlayResponse;
import dev.happycity.v1.Resign;
import dev.happycity.v1.SeatResult;
import dev.happycity.v1.VoidReason;
import java.lang.System.Logger.Level;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.StringJoiner;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Plays all games of one bot. They outlive the connection: it may be lost and resumed.
 *
 * <p>Each decision is put to the bot once. If the server sends it again, after a lost connection,
 * the answer comes from memory: asking twice would advance the bot's randomness.
 */
final class Player {
  private static final System.Logger LOG = System.getLogger("dev.happycity");

  /** Replies wait for others no longer than this; those of calls that took longer don't wait. */
  private static final long HOLD_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

  private static final String SDK = Player.class.getPackageName() + ".";

  /** A bot in one seat of a match, and the state of the last decision that it was asked. */
  private static final class Game {
    final long match;
    final int seat;

    /** The calls of the bot's code, one after the other. */
    CompletableFuture<Void> calls = CompletableFuture.completedFuture(null);

    Bot bot; // made by the first call, and used by calls only; null if its factory failed
    int stream; // the number of the one on which the server started the game, or asked last
    Decision asked; // null before the first one
    Consumer<PlayRequest.Builder> reply; // adds the answer to that, or the resign; null if none
    boolean crashed; // whether it is the resign
    boolean over;
    Thread thinking; // null while the bot does not choose

    Game(GameStarted started, int stream) {
      this.match = started.getMatchId();
      this.seat = started.getSeat();
      this.stream = stream;
    }

    /** Returns where the game is, as far as the bot knows. */
    String where() {
      return asked == null
          ? Player.where(match, 0, 0)
          : Player.where(match, asked.view().getRound(), asked.decisionId());
    }
  }

  private final BotFactory factory;
  private final Executor threads;
  private final Map<Long, Map<Integer, Game>> games = new HashMap<>(); // by match and seat
  private int stream; // counts those that had a welcome
  private Consumer<PlayRequest> out; // sends on the last one
  private PlayRequest.Builder replies = PlayRequest.newBuilder(); // what is to be sent on it
  private int waiting; // decisions that no thread has taken up
  private long holdStart; // in System.nanoTime, when a batch came or replies were sent last

  Player(BotFactory factory, Executor threads) {
    this.factory = factory;
    this.threads = threads;
  }

  /** Returns such as "match 7, round 1, decision 3", without what is 0. */
  static String where(long match, int round, int decision) {
    StringJoiner parts = new StringJoiner(", ");
    if (match != 0) {
      parts.add("match " + match);
    }
    if (round != 0) {
      parts.add("round " + round);
    }
    if (decision != 0) {
      parts.add("decision " + Integer.toUnsignedString(decision));
    }
    return parts.toString();
  }

  /** Goes on with a new stream. The games of all matches but these are void. */
  synchronized void welcome(Collection<Long> matches, Consumer<PlayRequest> out) {
    this.out = out;
    stream++;
    replies.clear();
    Set<Long> lost = new HashSet<>(games.keySet());
    lost.removeAll(Set.copyOf(matches));
    for (long match : lost) {
      GameOver.Builder over = GameOver.newBuilder().setMatchId(match);
      end(over.setVoidReason(VoidReason.VOID_REASON_UNKNOWN).build());
    }
  }

  /** Handles a batch, in the order that the contract demands. It never waits for a bot. */
  synchronized void handle(PlayResponse batch) {
    holdStart = System.nanoTime();
    batch.getGamesStartedList().forEach(this::start);
    batch.getDecisionsList().forEach(this::decide);
    batch.getGamesOverList().forEach(this::end);
    sendReplies(holdStart);
  }

  /** Drops all games: their bots are asked nothing more. */
  synchronized void close() {
    games.values().forEach(seats -> seats.values().forEach(Player::leave));
    games.clear();
  }

  private void start(GameStarted started) {
    Map<Integer, Game> seats =
        games.computeIfAbsent(started.getMatchId(), match -> new HashMap<>());
    if (!seats.containsKey(started.getSeat())) { // else it goes on after a lost connection
      Game game = new Game(started, stream);
      seats.put(game.seat, game);
      call(game, () -> makeBot(game, started));
    }
  }

  private void decide(dev.happycity.v1.Decision message) {
    Game game = games.getOrDefault(message.getMatchId(), Map.of()).get(message.getView().getSeat());
    if (game == null) {
      LOG.log(Level.WARNING, "match " + message.getMatchId() + ": a decision of an unknown game");
      return;
    }
    int last = game.asked == null ? 0 : game.asked.decisionId();
    int order = Integer.compareUnsigned(message.getDecisionId(), last);
    if (order < 0) {
      return; // settled long ago
    }
    game.stream = stream;
    if (order > 0 && !game.crashed) {
      ask(game, Decision.of(message));
    } else if (game.reply != null) {
      game.reply.accept(replies);
    }
  }

  private void ask(Game game, Decision decision) {
    interrupt(game); // what it still thinks about is settled
    game.asked = decision;
    game.reply = null;
    waiting++;
    call(game, () -> think(game, decision));
  }

  /** Replies, if the server has asked on the present stream; else when it asks again. */
  private void reply(Game game, Consumer<PlayRequest.Builder> reply) {
    game.reply = reply;
    if (game.stream == stream) {
      reply.accept(replies);
    }
  }

  /**
   * Sends the replies. While decisions wait for a thread, those of fast bots gather: the server
   * reads one large message in less time than many small ones.
   */
  private void sendReplies(long callStart) {
    long now = System.nanoTime();
    boolean isLate = now - holdStart > HOLD_NANOS || now - callStart > HOLD_NANOS;
    boolean isEmpty = replies.getAnswersCount() + replies.getResignsCount() == 0;
    if (!isEmpty && (waiting == 0 || isLate)) {
      holdStart = now;
      out.accept(replies.build());
      replies.clear();
    }
  }

  /** Ends a match in every seat that the bot has there. */
  private void end(GameOver over) {
    Map<Integer, Game> seats = games.remove(over.getMatchId());
    if (seats == null) {
      return;
    }
    for (Game game : seats.values()) {
      leave(game);
      logForfeit(game, over);
      call(game, () -> tellEnd(game, over));
    }
  }

  private static void leave(Game game) {
    game.over = true;
    interrupt(game);
  }

  private static void interrupt(Game game) {
    if (game.thinking != null) {
      game.thinking.interrupt();
    }
  }

  /** Logs that the server gave a seat up, if it did. */
  private static void logForfeit(Game game, GameOver over) {
    if (game.seat >= over.getResult().getSeatsCount()) {
      return;
    }
    SeatResult own = over.getResult().getSeats(game.seat);
    if (own.getEndingValue() > Ending.ENDING_FINISHED_VALUE) {
      String ending = own.getEnding().name().replaceFirst("ENDING_", "").toLowerCase(Locale.ROOT);
      String reason = own.hasReason() ? ": " + HappyCityException.oneLine(own.getReason()) : "";
      LOG.log(Level.WARNING, game.where() + ": the seat was forfeited: " + ending + reason);
    }
  }

  /** Has the bot's code called in a thread, after the calls that it has had. */
  private void call(Game game, Runnable method) {
    game.calls = game.calls.thenRunAsync(method, threads);
  }

  private void makeBot(Game game, GameStarted started) {
    try {
      game.bot = Objects.requireNonNull(factory.newBot(started), "the factory returned no bot");
    } catch (Throwable e) { // the author's code; even a StackOverflowError ends one game only
      crash(game, e);
    }
  }

  private void think(Game game, Decision decision) {
    if (!begin(game, decision)) {
      return;
    }
    long start = System.nanoTime();
    Runnable outcome;
    try {
      Answer answer = choose(game.bot, decision);
      outcome = () -> reply(game, replies -> replies.addAnswers(answer));
    } catch (Throwable e) { // the author's code
      outcome = () -> crash(game, e);
    }
    finish(game, decision, outcome, start);
  }

  private static Answer choose(Bot bot, Decision decision) throws Exception {
    int position = bot.choose(decision);
    if (position < 0 || position >= decision.moves().size()) {
      throw new IllegalArgumentException(
          "the bot chose move %d, and there are %d".formatted(position, decision.moves().size()));
    }
    return Answer.newBuilder()
        .setMatchId(decision.matchId())
        .setDecisionId(decision.decisionId())
        .setMove(position)
        .putAllMetrics(decision.notes())
        .build();
  }

  private synchronized boolean begin(Game game, Decision decision) {
    waiting--;
    if (game.bot == null || game.over || game.asked != decision) {
      sendReplies(holdStart);
      return false;
    }
    game.thinking = Thread.currentThread();
    return true;
  }

  private synchronized void finish(Game game, Decision decision, Runnable outcome, long start) {
    game.thinking = null;
    Thread.interrupted(); // an interruption was about this decision
    if (!game.over && game.asked == decision) {
      outcome.run();
    }
    sendReplies(start);
  }

  /** Gives up a game in which the bot crashed; its other games go on. */
  private synchronized void crash(Game game, Throwable error) {
    LOG.log(Level.ERROR, game.where() + ": the bot crashed, the game is given up", error);
    if (game.over) {
      return;
    }
    game.crashed = true;
    Resign resign =
        Resign.newBuilder()
            .setMatchId(game.match)
            .setSeat(game.seat)
            .setCrashed(true)
            .setReason(reasonOf(error))
            .build();
    reply(game, replies -> replies.addResigns(resign));
    sendReplies(holdStart);
  }

  /** Returns an error in one line, with the place in the author's code that it came from. */
  private static String reasonOf(Throwable error) {
    String place =
        Arrays.stream(error.getStackTrace())
            .filter(at -> at.getModuleName() == null && !at.getClassName().startsWith(SDK))
            .findFirst()
            .map(at -> " (%s:%d)".formatted(at.getFileName(), at.getLineNumber()))
            .orElse("");
    String message = error.getMessage() == null ? "" : ": " + error.getMessage();
    String name = error.getClass().getSimpleName();
    return HappyCityException.oneLine(name + message) + place;
  }

  private void tellEnd(Game game, GameOver over) {
    if (game.bot == null) {
      return;
    }
    try {
      if (over.hasResult()) {
        List<SeatResult> seats = over.getResult().getSeatsList();
        game.bot.gameOver(new dev.happycity.GameOver(over.getMatchId(), seats));
      } else {
        game.bot.gameVoided(over.getMatchId(), over.getVoidReason());
      }
    } catch (Throwable e) { // the author's code
      LOG.log(Level.ERROR, game.where() + ": the bot crashed after its game", e);
    }
  }
}
