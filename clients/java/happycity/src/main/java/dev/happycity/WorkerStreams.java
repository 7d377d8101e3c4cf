package dev.happycity;

import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Keeps a stream to each worker that the server's last welcome named, with a session and a thread
 * of its own.
 *
 * <p>A stream that can't be opened is no reason to leave the server: the games are played there
 * then.
 */
final class WorkerStreams {
  private static final System.Logger LOG = System.getLogger("dev.happycity");

  /** Plays on one server until its session ends for good, or until the thread is interrupted. */
  @FunctionalInterface
  interface Play {
    void at(Settings settings) throws InterruptedException;
  }

  private final Settings settings; // of the stream to the server
  private final Play play;
  private final Map<String, Thread> streams = new HashMap<>(); // by address
  private final List<Thread> left = new ArrayList<>(); // those that were ended
  private boolean closed;

  WorkerStreams(Settings settings, Play play) {
    this.settings = settings;
    this.play = play;
  }

  /**
   * Opens streams to the workers at these addresses, and ends those to others.
   *
   * <p>A bot with a maximum number of games opens none, as it holds for all streams together.
   */
  synchronized void follow(List<String> addresses) {
    if (closed) {
      return;
    }
    List<String> wanted = settings.games() == Settings.UNLIMITED ? addresses : List.of();
    for (String address : List.copyOf(streams.keySet())) {
      if (!wanted.contains(address)) {
        leave(address);
      }
    }
    for (String address : wanted) {
      if (!streams.containsKey(address) || !streams.get(address).isAlive()) {
        streams.put(address, open(address));
      }
    }
  }

  /** Ends all streams, and returns when they have ended. */
  void close() throws InterruptedException {
    synchronized (this) {
      closed = true;
      List.copyOf(streams.keySet()).forEach(this::leave);
    }
    for (Thread stream : left) {
      stream.join();
    }
  }

  private void leave(String address) {
    Thread stream = streams.remove(address);
    stream.interrupt();
    left.add(stream);
  }

  private Thread open(String address) {
    Thread stream = new Thread(() -> keep(address), "happycity-worker-" + address);
    stream.setDaemon(true);
    stream.start();
    return stream;
  }

  private void keep(String address) {
    try {
      play.at(settings.ofWorker(address));
    } catch (InterruptedException e) {
      // left, and has said goodbye
    } catch (HappyCityException e) {
      String text = "{0}: no games at the worker {1}: {2}";
      LOG.log(Level.WARNING, text, settings.name(), address, e.getMessage());
    }
  }
}
