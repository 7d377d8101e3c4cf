package dev.happycity;

import java.util.logging.Level;
import java.util.logging.Logger;

/** The format of the log of a bot's program, unless the program sets one itself. */
final class ProgramLog {
  private static final String FORMAT = "java.util.logging.SimpleFormatter.format";
  private static final Logger GRPC =
      Logger.getLogger("io.grpc"); // a reference, or its level is lost

  private ProgramLog() {}

  /** Makes each record one line: time, level and message. */
  static void shorten() {
    if (System.getProperty(FORMAT) == null) {
      System.setProperty(FORMAT, "%1$tT %4$s %5$s%6$s%n");
    }
    if (GRPC.getLevel() == null) {
      GRPC.setLevel(Level.SEVERE); // its warnings say, with traces, what the bot's one line says
    }
  }
}
