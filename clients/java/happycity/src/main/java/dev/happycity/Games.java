package dev.happycity;

import dev.happycity.v1.Answer;
import dev.happycity.v1.Decision;
import dev.happycity.v1.GameOver;
import dev.happycity.v1.GameStarted;
import dev.happycity.v1.PlayResponse;
import dev.happycity.v1.VoidReason;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledExecutorService;

/**
 * All games of one bot. They outlive the connection: it may be lost and taken up again.
 *
 * <p>Each decision is put to the bot once. If the server sends it again, after a lost connection,
 * the answer comes from memory: asking twice would advance the bot's randomness.
 */
final class Games {
  /** How many characters of a resignation's reason the server keeps. */
  static final int REASON_LENGTH = 200;

  private static final System.Logger LOG = System.getLogger("dev.happycity");

  private final BotFactory factory;
  private final Executor thinkers;
  private final Alarm lateness; // set to the limit of the thought that is late first, or before
  private final Map<Long, Game> running = new HashMap<>();
  private final Map<Long, String> givenUp = new HashMap<>(); // why, until their end is heard
  private Outbox out; // of the present connection; null while there is none
  private int waiting; // how many answers that connection's server waits for
  private boolean closed;

  Games(BotFactory factory, Executor thinkers, ScheduledExecutorService clock) {
    this.factory = factory;
    this.thinkers = thinkers;
    this.lateness = new Alarm(clock, this::interruptLate);
  }

  /** Returns the games that run as far as the bot knows. */
  synchronized List<Long> known() {
    List<Long> known = new ArrayList<>(running.keySet());
    known.addAll(givenUp.keySet());
    return known;
  }

  /** Notes that a server took the bot in; the games go on only if it says so. */
  synchronized void attach(Outbox out, boolean resumed) {
    if (closed) {
      return;
    }
    this.out = out;
    if (resumed) {
      givenUp.forEach(out::resign);
    } else {
      givenUp.clear();
      List.copyOf(running.values()).forEach(this::voidGame);
    }
  }

  /** Notes that the connection is lost: what was not sent is sent only if it is asked for again. */
  synchronized void detach() {
    out = null;
    waiting = 0;
    running.values().forEach(game -> game.wanted = false);
  }

  /** Ends all thinking; nothing is asked of any bot after it. */
  synchronized void close() {
    closed = true;
    lateness.clear();
    running.values().forEach(this::dropThought);
  }

  /**
   * Deals with a batch, in the order that the protocol demands. It never waits for a bot.
   *
   * <p>No answer gets between the decisions of a batch, so that the bots can't be done with half of
   * it and have that sent on its own.
   */
  synchronized void handle(PlayResponse batch) {
    if (closed) {
      return;
    }
    batch.getGamesStartedList().forEach(this::start);
    batch.getDecisionsList().forEach(this::decide);
    batch.getGamesOverList().forEach(this::end);
    flushIfDone();
  }

  /** Begins a game, anew if it runs already. */
  private void start(GameStarted start) {
    Game older = running.get(start.getGameId());
    if (older != null) {
      voidGame(older);
    }
    givenUp.remove(start.getGameId());
    Game game = new Game(start.getGameId(), thinkers);
    running.put(game.id, game);
    game.chores.add(() -> makeBot(game, start));
  }

  private void makeBot(Game game, GameStarted start) {
    try {
      game.makeBot(factory, start);
    } catch (Throwable e) { // the author's code; even a StackOverflowError is about one game only
      giveUp(game, e);
    }
  }

  /** Has a decision answered: by the bot, or from memory if the server sends it again. */
  private void decide(Decision decision) {
    Game game = running.get(decision.getGameId());
    if (game == null) {
      if (!givenUp.containsKey(decision.getGameId())) {
        LOG.log(Level.WARNING, "a decision of {0}, but no such game", name(decision.getGameId()));
      }
      return;
    }
    int order = Integer.compareUnsigned(decision.getDecisionId(), game.asked);
    if (order < 0) {
      return; // settled long ago
    }
    if (order == 0 && game.isAnswered()) {
      out.answer(game.answer());
    } else if (order == 0 && game.thought != null) {
      want(game);
    } else {
      ask(game, decision);
    }
  }

  /** Puts a decision to the bot. Whatever that still thinks about has been settled by the clock. */
  private void ask(Game game, Decision decision) {
    dropThought(game);
    Thought thought = new Thought(decision);
    game.ask(thought);
    want(game);
    game.chores.add(() -> think(game, thought));
  }

  /** Answers a decision, unless it is void or late before its turn comes. */
  private void think(Game game, Thought thought) {
    if (!game.hasBot()) {
      return;
    }
    Answer answer = null;
    Throwable failure = null;
    if (begin(game, thought)) {
      try {
        answer = game.choose(thought);
      } catch (Throwable e) { // the author's code
        failure = e;
      }
    }
    finish(game, thought, answer, failure);
  }

  private synchronized boolean begin(Game game, Thought thought) {
    if (closed || game.thought != thought || thought.isLate()) {
      return false;
    }
    thought.begin();
    if (thought.hasLimit) {
      lateness.setNoLaterThan(thought.limit);
    }
    return true;
  }

  private synchronized void finish(Game game, Thought thought, Answer answer, Throwable failure) {
    thought.end();
    if (closed || game.thought != thought) {
      return;
    }
    if (answer != null) {
      settle(game, answer);
    } else if (thought.isLate()) {
      dropThought(game);
      LOG.log(Level.WARNING, "no answer in time in game {0}", game.name());
      flushIfDone();
    } else {
      giveUp(game, failure);
    }
  }

  /** Notes a bot's answer, and sends it if it is waited for. */
  private void settle(Game game, Answer answer) {
    game.settle(answer);
    if (game.wanted) {
      unwant(game);
      out.answer(answer);
      flushIfDone();
    }
  }

  /** Resigns a game in which the bot failed; its other games go on. */
  private synchronized void giveUp(Game game, Throwable failure) {
    if (game.over) {
      return;
    }
    LOG.log(Level.ERROR, "game " + game.name() + " is resigned: the bot failed", failure);
    leave(game);
    String reason = shortened(failure.toString());
    givenUp.put(game.id, reason);
    if (out != null) {
      out.resign(game.id, reason);
    }
  }

  /** Tells the bots whose time is up, and looks after the others when theirs may be. */
  private synchronized void interruptLate() {
    for (Game game : running.values()) {
      Thought thought = game.thought;
      if (thought == null || !thought.hasLimit || !thought.isRunning()) {
        continue;
      }
      if (thought.isLate()) {
        thought.interrupt();
      } else {
        lateness.setNoLaterThan(thought.limit);
      }
    }
  }

  /** Notes that a game is over, and tells its bot. */
  private void end(GameOver over) {
    out.forget(over.getGameId());
    givenUp.remove(over.getGameId());
    Game game = running.get(over.getGameId());
    if (game != null) {
      part(game, over);
    }
  }

  /** Ends a game that the server doesn't know any more, or begins anew. */
  private void voidGame(Game game) {
    part(
        game,
        GameOver.newBuilder()
            .setGameId(game.id)
            .setVoidReason(VoidReason.VOID_REASON_UNKNOWN)
            .build());
  }

  /** Takes a game from those that run, and tells its bot how it ended. */
  private void part(Game game, GameOver over) {
    leave(game);
    game.chores.add(() -> tell(game, over));
  }

  private static void tell(Game game, GameOver over) {
    if (!game.hasBot()) {
      return;
    }
    try {
      game.hear(over);
    } catch (Throwable e) { // the author's code
      LOG.log(Level.ERROR, "the bot failed at the end of game " + game.name(), e);
    }
  }

  private void leave(Game game) {
    dropThought(game);
    game.over = true;
    running.remove(game.id);
  }

  /** Makes void what the bot thinks about. */
  private void dropThought(Game game) {
    if (game.thought != null) {
      game.thought.interrupt();
      game.thought = null;
    }
    unwant(game);
  }

  private void want(Game game) {
    if (!game.wanted) {
      game.wanted = true;
      waiting++;
    }
  }

  private void unwant(Game game) {
    if (game.wanted) {
      game.wanted = false;
      waiting--;
    }
  }

  /** Sends the answers that have gathered, if no other is on its way. */
  private void flushIfDone() {
    if (waiting == 0 && out != null) {
      out.flush();
    }
  }

  private static String name(long gameId) {
    return Long.toUnsignedString(gameId);
  }

  private static String shortened(String reason) {
    int length = reason.codePointCount(0, reason.length());
    return reason.substring(0, reason.offsetByCodePoints(0, Math.min(length, REASON_LENGTH)));
  }
}
