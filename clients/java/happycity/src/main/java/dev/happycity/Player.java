package dev.happycity;

import dev.happycity.v1.Answer;
import dev.happycity.v1.Ending;
import dev.happycity.v1.GameOver;
import dev.happycity.v1.GameStarted;
import dev.happycity.v1.MatchResult;
import dev.happycity.v1.PlayRequest;
import dev.happycity.v1.PlayResponse;
import dev.happycity.v1.Resign;
import dev.happycity.v1.SeatResult;
import dev.happycity.v1.VoidReason;
import java.lang.System.Logger.Level;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Plays all games of one bot. They outlive the connection: it may be lost and resumed.
 *
 * <p>Each decision is put to the bot once. If the server sends it again, after a lost connection,
 * the answer comes from memory: asking twice would advance the bot's randomness.
 */
final class Player {
  private static final System.Logger LOG = System.getLogger("dev.happycity");

  /** When replies are sent that wait for others. */
  private static final Executor LATER =
      CompletableFuture.delayedExecutor(5, TimeUnit.MILLISECONDS, Runnable::run);

  /** A bot in one seat of a match, and the state of the last decision that it was asked. */
  private static final class Game {
    final GameStarted started;

    /** The calls of the bot's code, one after the other. */
    CompletableFuture<Void> calls = CompletableFuture.completedFuture(null);

    Bot bot; // made by the first call, and used by calls only; null if its factory failed
    boolean open = true; // whether the server waits for a reply on the present stream
    int round; // of the last decision; 0 before the first one
    int decision;
    Decision asked; // the last decision; null once it is settled
    PlayRequest reply = PlayRequest.getDefaultInstance(); // its answer, or the resign after a crash
    Thread thinking; // null while the bot does not choose

    Game(GameStarted started) {
      this.started = started;
    }

    /** Returns where the game is, as far as the bot knows. */
    String where() {
      return Player.where(started.getMatchId(), round, decision);
    }

    /** Interrupts the bot if it thinks: no reply is sent any more. */
    void settle() {
      asked = null;
      open = false;
      if (thinking != null) {
        thinking.interrupt();
      }
    }
  }

  private final BotFactory factory;
  private final Executor threads;
  private final Map<Long, Map<Integer, Game>> games = new HashMap<>(); // by match and seat
  private final PlayRequest.Builder replies = PlayRequest.newBuilder(); // what is to be sent
  private final AtomicInteger waiting = new AtomicInteger(); // calls that no thread has taken up
  private Consumer<PlayRequest> out; // sends on the last stream that had a welcome
  private boolean held; // whether replies are to be sent later

  Player(BotFactory factory, Executor threads) {
    this.factory = factory;
    this.threads =
        call -> {
          waiting.incrementAndGet();
          threads.execute(call);
        };
  }

  /** Returns such as "match 7, round 1, decision 3", without what is 0. */
  static String where(long match, int round, int decision) {
    return Stream.of("match " + match, "round " + round, "decision " + decision)
        .filter(part -> !part.endsWith(" 0"))
        .collect(Collectors.joining(", "));
  }

  /** Goes on with a new stream. The games of all matches but these are void. */
  synchronized void welcome(Collection<Long> matches, Consumer<PlayRequest> out) {
    this.out = out;
    replies.clear();
    for (long match : List.copyOf(games.keySet())) {
      if (matches.contains(match)) {
        games.get(match).values().forEach(game -> game.open = false);
      } else {
        GameOver.Builder over = GameOver.newBuilder().setMatchId(match);
        over.getOutcomeBuilder().setVoidReason(VoidReason.VOID_REASON_UNKNOWN);
        end(over.build());
      }
    }
  }

  /** Handles a batch, in the order that the contract demands. It never waits for a bot. */
  synchronized void handle(PlayResponse batch) {
    batch.getGamesStartedList().forEach(this::start);
    batch.getDecisionsList().forEach(this::decide);
    batch.getGamesOverList().forEach(this::end);
    sendReplies(waiting.get() == 0);
  }

  /** Drops all games: their bots are asked nothing more. */
  synchronized void close() {
    games.values().forEach(seats -> seats.values().forEach(Game::settle));
    games.clear();
  }

  private void start(GameStarted started) {
    Map<Integer, Game> seats =
        games.computeIfAbsent(started.getMatchId(), match -> new HashMap<>());
    if (!seats.containsKey(started.getSeat())) { // else it goes on after a lost connection
      Game game = new Game(started);
      seats.put(started.getSeat(), game);
      call(game, null, () -> makeBot(game));
    }
  }

  private void decide(dev.happycity.v1.Decision message) {
    Game game = games.getOrDefault(message.getMatchId(), Map.of()).get(message.getView().getSeat());
    if (game == null) {
      LOG.log(Level.WARNING, "match " + message.getMatchId() + ": a decision of an unknown game");
      return;
    }
    if (game.decision == message.getDecisionId() || game.reply.getResignsCount() > 0) {
      replies.mergeFrom(game.reply);
    } else {
      game.settle(); // what it still thinks about
      Decision decision = new Decision(message);
      game.asked = decision;
      game.round = decision.view().getRound();
      game.decision = message.getDecisionId();
      game.reply = PlayRequest.getDefaultInstance();
      call(game, decision, () -> answer(game.bot, decision));
    }
    game.open = true;
  }

  /** Ends a match in every seat that the bot has there. */
  private void end(GameOver over) {
    for (Game game : games.getOrDefault(over.getMatchId(), Map.of()).values()) {
      if (over.getOutcome().hasResult()) {
        MatchResult result = over.getOutcome().getResult();
        logForfeit(game.where(), result.getSeats(game.started.getSeat()));
      }
      game.settle();
      call(game, null, () -> tellEnd(game.bot, over));
    }
    games.remove(over.getMatchId());
  }

  /** Logs that the server gave a seat up, if it did. */
  private static void logForfeit(String where, SeatResult own) {
    if (own.getEndingValue() > Ending.ENDING_FINISHED_VALUE) {
      String why = HappyCityException.oneLine(own.getEnding() + " " + own.getReason());
      LOG.log(Level.WARNING, where + ": the seat was forfeited: " + why);
    }
  }

  /**
   * Has the bot's code called in a thread, after the calls that it has had. What it returns is the
   * reply to the server, or else its crash is.
   *
   * @param decision what the call is about; null if it is about the whole game
   */
  private void call(Game game, Decision decision, Callable<PlayRequest> code) {
    game.calls = game.calls.thenRunAsync(() -> run(game, decision, code), threads);
  }

  private void run(Game game, Decision decision, Callable<PlayRequest> code) {
    Supplier<PlayRequest> reply = PlayRequest::getDefaultInstance;
    if (begin(game, decision)) {
      try {
        PlayRequest answer = code.call();
        reply = () -> answer;
      } catch (Throwable e) { // the author's code; even a StackOverflowError ends one game only
        reply = () -> resign(game, e);
      }
    }
    finish(game, decision, reply);
  }

  private synchronized boolean begin(Game game, Decision decision) {
    waiting.decrementAndGet();
    boolean wanted = decision == null || game.asked == decision;
    game.thinking = wanted && decision != null ? Thread.currentThread() : null;
    return wanted;
  }

  /** Replies, if the server has asked on the present stream; else when it asks again. */
  private synchronized void finish(Game game, Decision decision, Supplier<PlayRequest> reply) {
    game.thinking = null;
    Thread.interrupted(); // an interruption was about this decision
    if (decision == null || game.asked == decision) {
      game.reply = reply.get();
      if (game.open) {
        replies.mergeFrom(game.reply);
      }
    }
    sendReplies(waiting.get() == 0);
  }

  /**
   * Sends the replies now or a moment later. Those of fast bots gather: the server reads one large
   * message in less time than many small ones.
   */
  private synchronized void sendReplies(boolean now) {
    if (!now && !held) {
      held = true;
      LATER.execute(() -> sendReplies(true));
    } else if (now) {
      held = false;
      if (replies.getAnswersCount() + replies.getResignsCount() > 0) {
        out.accept(replies.build());
        replies.clear();
      }
    }
  }

  private PlayRequest makeBot(Game game) throws Exception {
    game.bot = Objects.requireNonNull(factory.newBot(game.started), "the factory made no bot");
    return PlayRequest.getDefaultInstance();
  }

  private static PlayRequest answer(Bot bot, Decision decision) throws Exception {
    int position = bot.choose(decision);
    if (position < 0 || position >= decision.moves().size()) {
      throw new IllegalArgumentException(
          "the bot chose move %d, and there are %d".formatted(position, decision.moves().size()));
    }
    Answer.Builder answer =
        Answer.newBuilder()
            .setMatchId(decision.message().getMatchId())
            .setDecisionId(decision.message().getDecisionId())
            .setMove(position)
            .putAllMetrics(decision.notes());
    return PlayRequest.newBuilder().addAnswers(answer).build();
  }

  /** Returns the resign of a game in which the bot crashed, with the place in the author's code. */
  private static PlayRequest resign(Game game, Throwable error) {
    LOG.log(Level.ERROR, game.where() + ": the bot crashed", error);
    game.asked = null;
    String place =
        Arrays.stream(error.getStackTrace())
            .filter(at -> at.getModuleName() == null)
            .filter(at -> !at.getClassName().startsWith("dev.happycity."))
            .findFirst()
            .map(at -> " (%s:%d)".formatted(at.getFileName(), at.getLineNumber()))
            .orElse("");
    Resign.Builder resign =
        Resign.newBuilder()
            .setMatchId(game.started.getMatchId())
            .setSeat(game.started.getSeat())
            .setCrashed(true)
            .setReason(HappyCityException.oneLine(error.toString()) + place);
    return PlayRequest.newBuilder().addResigns(resign).build();
  }

  private static PlayRequest tellEnd(Bot bot, GameOver over) {
    if (bot != null && over.getOutcome().hasResult()) {
      bot.gameOver(over);
    } else if (bot != null) {
      bot.gameVoided(over.getMatchId(), over.getOutcome().getVoidReason());
    }
    return PlayRequest.getDefaultInstance();
  }
}
