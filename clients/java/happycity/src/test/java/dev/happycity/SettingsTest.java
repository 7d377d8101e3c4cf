package dev.happycity;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SettingsTest {
  /** What is left out comes from the environment. */
  @Test
  void environment() {
    Map<String, String> environment =
        Map.of(
            "HAPPYCITY_NAME", "env",
            "HAPPYCITY_SERVER", "host:1",
            "HAPPYCITY_TOKEN", "secret",
            "HAPPYCITY_GAMES", "5",
            "HAPPYCITY_INSECURE", "1");
    Settings settings = Settings.builder().build(environment);
    assertEquals("env", settings.name());
    assertEquals("host:1", settings.server());
    assertEquals(5, settings.games());
  }

  /** A setting in code beats the environment, also one that switches something off. */
  @Test
  void codeBeatsEnvironment() {
    Map<String, String> environment =
        Map.of(
            "HAPPYCITY_NAME", "env",
            "HAPPYCITY_SERVER", "host:1",
            "HAPPYCITY_GAMES", "many",
            "HAPPYCITY_TLS", "1",
            "HAPPYCITY_INSECURE", "1");
    Settings.Builder code =
        Settings.builder().name("code").server("localhost:2").games(Settings.UNLIMITED).tls(false);
    Settings settings = code.build(environment);
    assertEquals("code", settings.name());
    assertEquals("localhost:2", settings.server());
    assertEquals(Settings.UNLIMITED, settings.games());
    assertFalse(settings.isEncrypted());
    code.server("example.org:1").token("secret").build(environment);
    assertSetting("token", () -> code.insecure(false).build(environment));
  }

  /** Without an environment, or one of empty variables, there are defaults. */
  @Test
  void defaults() {
    Settings settings = Settings.builder().name("me").build(Map.of("HAPPYCITY_GAMES", ""));
    assertEquals(Settings.DEFAULT_SERVER, settings.server());
    assertEquals(Settings.DEFAULT_GAMES, settings.games());
    assertEquals(Duration.ofMinutes(1), settings.reconnectTime());
    assertEquals(Duration.ZERO, settings.waitTime());
    assertTrue(settings.thinkers() >= 1);
    assertFalse(settings.isEncrypted());
  }

  /** A program's own name is that of the class with the main method. */
  @Test
  void programName() {
    assertEquals("Lighthouse", Lighthouse.main());
    CompletableFuture.runAsync( // in a thread that no main method began
            () -> assertSetting("name", () -> Settings.builder().build(Map.of())))
        .join();
  }

  private static final class Lighthouse {
    static String main() {
      return Settings.builder().build(Map.of()).name();
    }
  }

  /** A variable whose value can't be used is an error that names it; 0 can be used. */
  @ParameterizedTest
  @ValueSource(strings = {"HAPPYCITY_GAMES", "HAPPYCITY_TLS", "HAPPYCITY_INSECURE"})
  void strangeVariable(String variable) {
    for (String value : new String[] {"many", "-1", "4294967296"}) {
      assertSetting(variable, () -> named().build(Map.of(variable, value)));
    }
    Settings settings = named().build(Map.of(variable, "0"));
    assertFalse(settings.isEncrypted());
    assertEquals(variable.endsWith("GAMES") ? Settings.UNLIMITED : 8, settings.games());
  }

  /** Code or a variable encrypts the connection. */
  @Test
  void encryption() {
    assertTrue(named().build(Map.of("HAPPYCITY_TLS", "1")).isEncrypted());
    assertTrue(named().tls(true).build(Map.of("HAPPYCITY_TLS", "0")).isEncrypted());
  }

  /** A token doesn't travel unencrypted to another machine unless that is allowed. */
  @Test
  void tokenInTheClear() {
    Settings.Builder far = named().server("example.org:1").token("secret");
    SettingException refused = assertSetting("token", () -> far.build(Map.of()));
    assertTrue(refused.getMessage().contains("HAPPYCITY_INSECURE=1"));
    far.build(Map.of("HAPPYCITY_INSECURE", "1"));
    far.build(Map.of("HAPPYCITY_TLS", "1"));
    far.token("").build(Map.of());
    named().server("127.0.0.1:1").token("secret").build(Map.of());
  }

  /** Files that are missing or hold something else are errors that name the setting. */
  @Test
  void files(@TempDir Path folder) throws IOException {
    Path text = Files.writeString(folder.resolve("text.pem"), "no certificate");
    assertSetting("ca", () -> named().ca(text).build(Map.of()));
    assertSetting("ca", () -> named().ca(folder.resolve("missing.pem")).build(Map.of()));
    assertSetting("cert", () -> named().cert(text).key(text).build(Map.of()));
    assertSetting("key", () -> named().cert(text).build(Map.of()));
    assertSetting("cert", () -> named().build(Map.of("HAPPYCITY_KEY", text.toString())));
  }

  /** What gRPC can't take for an address is an error. */
  @ParameterizedTest
  @ValueSource(strings = {"two words", ":", "host:port", "host:99999"})
  void strangeAddress(String server) {
    assertSetting("server", () -> named().server(server).build(Map.of()).channel().shutdownNow());
  }

  private static Settings.Builder named() {
    return Settings.builder().name("me");
  }

  private static SettingException assertSetting(String setting, Runnable build) {
    SettingException error = assertThrows(SettingException.class, build::run);
    assertEquals(setting, error.setting());
    assertTrue(error.getMessage().startsWith(setting + ": "), error.getMessage());
    return error;
  }
}
