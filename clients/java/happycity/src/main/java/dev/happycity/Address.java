package dev.happycity;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Addresses as gRPC takes them, such as host:port, dns:///host:port or unix:path. */
final class Address {
  private static final Pattern TARGET = Pattern.compile("(dns:)?(//[^/]*/)?/?(?<address>.*)");
  private static final Pattern LOCAL =
      Pattern.compile("(localhost|127(\\.(25[0-5]|2[0-4]\\d|1?\\d?\\d)){3}|\\[::1])(:\\d+)?|::1");
  private static final Pattern PORT = Pattern.compile(".*:0*(?<port>\\d+)");
  private static final int LARGEST_PORT = 65_535;

  private Address() {}

  /** Whether an address stays on this machine. Names are not looked up. */
  static boolean isLoopback(String server) {
    if (isSocket(server)) {
      return true;
    }
    Matcher target = TARGET.matcher(server);
    return target.matches() && LOCAL.matcher(target.group("address")).matches();
  }

  /** Whether there can be such a port. gRPC would fail late, and in a thread of its own. */
  static boolean isPortPossible(String server) {
    Matcher port = PORT.matcher(server);
    if (isSocket(server) || !port.matches()) {
      return true;
    }
    String digits = port.group("port");
    return digits.length() <= 5 && Integer.parseInt(digits) <= LARGEST_PORT;
  }

  private static boolean isSocket(String server) {
    return server.startsWith("unix:");
  }
}
