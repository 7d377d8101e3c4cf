package dev.happycity;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class AddressTest {
  /** These can't leave the machine. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "127.0.0.1:50051",
        "127.8.8.8:1",
        "127.0.0.1",
        "localhost:1",
        "localhost",
        "[::1]:1",
        "::1",
        "unix:/tmp/socket",
        "unix:///tmp/socket",
        "dns:///127.0.0.1:1",
        "dns://8.8.8.8/127.0.0.1:1",
        "dns:localhost:1",
      })
  void loopback(String server) {
    assertTrue(Address.isLoopback(server));
  }

  /** These can. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "10.0.0.1:1",
        "0.0.0.0:1",
        "127.0.0.256:1",
        "127.0.0.1.example.org:1",
        "example.org:1",
        "localhost.example.org:1",
        "dns://127.0.0.1/example.org:1",
        "dns:///example.org:1",
        "xds:///127.0.0.1:1",
        "",
        "[fe80::1]:1",
      })
  void elsewhere(String server) {
    assertFalse(Address.isLoopback(server));
  }

  /** A port has 16 bits; addresses without one have a default port. */
  @ParameterizedTest
  @ValueSource(strings = {"host", "host:0", "host:65535", "host:00065535", "unix:99999"})
  void possiblePort(String server) {
    assertTrue(Address.isPortPossible(server));
  }

  @ParameterizedTest
  @ValueSource(strings = {"host:65536", "dns:///host:99999", "host:99999999999999999999"})
  void impossiblePort(String server) {
    assertFalse(Address.isPortPossible(server));
  }
}
