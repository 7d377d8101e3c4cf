package dev.happycity;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.LinkedHashMap;
import java.util.Map;

/** Logs each kind of crash once with its stack, then only how often it came again. */
final class CrashLog {
  /** Kinds of crashes that are counted separately; all further ones count as one kind. */
  static final int MOST_KINDS = 100;

  private static final class Kind {
    final long firstMatch;
    final String reason;
    long count = 1;
    long logged = 1; // the count that the last line gives

    Kind(long firstMatch, String reason) {
      this.firstMatch = firstMatch;
      this.reason = reason;
    }
  }

  private final Logger log;
  private final Map<String, Kind> kinds = new LinkedHashMap<>();

  CrashLog(Logger log) {
    this.log = log;
  }

  /** Logs a crash at a place of a match. */
  synchronized void add(String what, long match, String place, Throwable error) {
    String key = what + " " + Crash.kindOf(error);
    String reason = Crash.reasonOf(error);
    if (!kinds.containsKey(key) && kinds.size() >= MOST_KINDS) {
      key = "";
      reason = "various";
    }
    Kind kind = kinds.get(key);
    if (kind == null) {
      kinds.put(key, new Kind(match, reason));
      log.log(Level.ERROR, place + ": " + what, error);
      return;
    }
    kind.count++;
    if (Long.toString(kind.count).matches("10*")) {
      kind.logged = kind.count;
      String text = "%s: the same crash as in match %d (%d so far): %s";
      log.log(Level.ERROR, text.formatted(place, kind.firstMatch, kind.count, kind.reason));
    }
  }

  /** Logs how often each kind came in all, where the last line doesn't say it. */
  synchronized void close() {
    String text = "the same crash in %d games, first in match %d: %s";
    for (Kind kind : kinds.values()) {
      if (kind.count > kind.logged) {
        log.log(Level.ERROR, text.formatted(kind.count, kind.firstMatch, kind.reason));
      }
    }
    kinds.clear();
  }
}
