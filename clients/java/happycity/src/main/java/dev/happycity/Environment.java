package dev.happycity;

import java.nio.file.Path;
import java.util.Map;
import java.util.function.Supplier;

/** The variables HAPPYCITY_*, for what code leaves out. An empty one is as good as none. */
record Environment(Map<String, String> variables) {
  private static final String PREFIX = "HAPPYCITY_";

  /** Returns what code sets, else the variable, else the default. */
  String text(String set, String variable, Supplier<String> otherwise) {
    if (set != null && !set.isEmpty()) {
      return set;
    }
    String value = get(variable);
    return value.isEmpty() ? otherwise.get() : value;
  }

  Path file(Path set, String variable) {
    String value = get(variable);
    return set != null || value.isEmpty() ? set : Path.of(value);
  }

  int games(Integer set, String variable, int otherwise) {
    if (set != null) {
      return set;
    }
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
      // thrown below
    }
    throw unusable(variable, value, "is not a number of games");
  }

  boolean isOn(Boolean set, String variable) {
    if (set != null) {
      return set;
    }
    String value = get(variable);
    return switch (value) {
      case "", "0" -> false;
      case "1" -> true;
      default -> throw unusable(variable, value, "is neither 0 nor 1");
    };
  }

  private String get(String variable) {
    return variables.getOrDefault(PREFIX + variable, "");
  }

  private static SettingException unusable(String variable, String value, String text) {
    return new SettingException(PREFIX + variable, "\"%s\" %s".formatted(value, text));
  }
}
