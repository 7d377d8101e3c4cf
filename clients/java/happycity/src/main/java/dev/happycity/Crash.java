package dev.happycity;

import java.util.Arrays;
import java.util.Optional;

/** What an author wants to know of a bot that failed. */
final class Crash {
  private static final String SDK = Crash.class.getPackageName() + ".";

  private Crash() {}

  /** Returns an error in one line, with the place in the author's code that it came from. */
  static String reasonOf(Throwable error) {
    String place = placeOf(error).map(" (%s)"::formatted).orElse("");
    String name = error.getClass().getSimpleName();
    String message = error.getMessage() == null ? "" : ": " + OneLine.of(error.getMessage());
    return OneLine.of((name.isEmpty() ? error.getClass().getName() : name) + message + place);
  }

  /**
   * Returns what two crashes of one kind have in common: type and place in the author's code, or
   * the text without its numbers where the place isn't known.
   */
  static String kindOf(Throwable error) {
    return placeOf(error)
        .map(place -> error.getClass().getName() + " " + place)
        .orElseGet(() -> reasonOf(error).replaceAll("[0-9]+", "0"));
  }

  private static Optional<String> placeOf(Throwable error) {
    return Arrays.stream(error.getStackTrace())
        .filter(Crash::isOfAuthor)
        .findFirst()
        .map(at -> "%s:%d".formatted(at.getFileName(), at.getLineNumber()));
  }

  /** Returns whether a place is in a known file, and neither in Java nor in the SDK. */
  private static boolean isOfAuthor(StackTraceElement at) {
    String module = at.getModuleName();
    boolean ofJava = module != null && (module.startsWith("java.") || module.startsWith("jdk."));
    return at.getFileName() != null && !ofJava && !at.getClassName().startsWith(SDK);
  }
}
