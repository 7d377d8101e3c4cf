package dev.happycity;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.temporal.ChronoUnit;
import java.util.logging.Formatter;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;

/** The format of the log of a bot's program, unless the program sets one itself. */
final class ProgramLog {
  private static final String FORMAT = "java.util.logging.SimpleFormatter.format";
  private static final Logger GRPC =
      Logger.getLogger("io.grpc"); // a reference, or its level is lost

  private ProgramLog() {}

  /** Makes each record one line: time in UTC, level and message. */
  static void shorten() {
    if (System.getProperty(FORMAT) == null) {
      for (Handler handler : Logger.getLogger("").getHandlers()) {
        if (handler.getFormatter() instanceof SimpleFormatter) {
          handler.setFormatter(new Lines());
        }
      }
    }
    if (GRPC.getLevel() == null) {
      GRPC.setLevel(Level.SEVERE); // its warnings say, with traces, what the bot's one line says
    }
  }

  /**
   * Writes such as "2026-11-22T15:23:03Z INFO mine: connected to ...", and the stack of an error.
   */
  static final class Lines extends Formatter {
    @Override
    public String format(LogRecord record) {
      StringWriter text = new StringWriter();
      PrintWriter out = new PrintWriter(text);
      String level = record.getLevel() == Level.SEVERE ? "ERROR" : record.getLevel().getName();
      out.println(
          record.getInstant().truncatedTo(ChronoUnit.SECONDS)
              + " "
              + level
              + " "
              + formatMessage(record));
      if (record.getThrown() != null) {
        record.getThrown().printStackTrace(out);
      }
      return text.toString();
    }
  }
}
