package dev.happycity;

import java.nio.file.Path;
import java.util.Map;
import java.util.function.Supplier;

/** The variables HAPPYCITY_*. An empty one is as good as none. */
record Environment(Map<String, String> variables) {
  private static final String PREFIX = "HAPPYCITY_";

  /** Returns what is given, else the variable, else the default. */
  String text(String given, String variable, Supplier<String> otherwise) {
    if (given != null && !given.isEmpty()) {
      return given;
    }
    String value = get(variable);
    return value.isEmpty() ? otherwise.get() : value;
  }

  Path file(Path given, String variable) {
    String value = get(variable);
    return given != null || value.isEmpty() ? given : Path.of(value);
  }

  int number(String variable, int otherwise) {
    String value = get(variable);
    if (value.isEmpty()) {
      return otherwise;
    }
    try {
      int number = Integer.parseInt(value);
      if (number >= 0) {
        return number;
      }
    } catch (NumberFormatException e) {
      // told below
    }
    throw strange(variable, value, "is not a number of games");
  }

  boolean isSet(boolean given, String variable) {
    String value = get(variable);
    return switch (value) {
      case "", "0" -> given;
      case "1" -> true;
      default -> throw strange(variable, value, "is neither 0 nor 1");
    };
  }

  private String get(String variable) {
    return variables.getOrDefault(PREFIX + variable, "");
  }

  private static SettingException strange(String variable, String value, String text) {
    return new SettingException(PREFIX + variable, "\"%s\" %s".formatted(value, text));
  }
}
