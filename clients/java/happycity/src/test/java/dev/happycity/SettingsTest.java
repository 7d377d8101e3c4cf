package dev.happycity;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.happycity.v1.BotInfo;
import dev.happycity.v1.Hello;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SettingsTest {
  private static final Map<String, String> ENVIRONMENT =
      Map.of(
          "HAPPYCITY_SERVER", "grpcs://host:1",
          "HAPPYCITY_NAME", "env",
          "HAPPYCITY_TOKEN", "secret",
          "HAPPYCITY_GAMES", "many");

  /** What is not set in code comes from the environment. */
  @Test
  void environment() {
    Settings settings = new Settings(ENVIRONMENT).games(5);
    assertEquals("env", settings.hello().getName());
    assertEquals(5, settings.hello().getMaxGames());
    assertEquals("host:1", settings.server().address());
    assertEquals("secret", settings.server().token());
    assertTrue(settings.server().tls());
  }

  /** A setting in code beats the environment. */
  @Test
  void codeBeatsEnvironment() {
    Settings settings =
        new Settings(ENVIRONMENT).server("grpc://h:2").name("code").token("").games(0);
    assertEquals("code", settings.hello().getName());
    assertFalse(settings.hello().hasMaxGames());
    assertEquals("h:2", settings.server().address());
    assertEquals("", settings.server().token());
    assertFalse(settings.server().tls());
  }

  /** Without an environment, or one of empty variables, there are defaults. */
  @Test
  void defaults() {
    Settings settings =
        new Settings(Map.of("HAPPYCITY_GAMES", "", "HAPPYCITY_SERVER", "")).name("me");
    Hello hello = settings.info(BotInfo.newBuilder().setAuthor("Ann").build()).hello();
    assertEquals(8, hello.getMaxGames());
    assertEquals("Ann", hello.getInfo().getAuthor());
    assertEquals("Java " + Runtime.version().feature(), hello.getInfo().getLanguage());
    assertEquals("happycity-java/" + HappyCity.VERSION, hello.getSoftware());
    assertEquals("127.0.0.1:50051", settings.server().address());
    assertFalse(settings.server().tls());
  }

  /** A bot's name is that of the class with the main method, but a token has a name already. */
  @Test
  void programName() {
    assertEquals("Lighthouse", Lighthouse.main().getName());
    assertFalse(new Settings(Map.of("HAPPYCITY_TOKEN", "secret")).hello().hasName());
  }

  private static final class Lighthouse {
    static Hello main() {
      return new Settings(Map.of()).hello();
    }
  }

  /** The scheme decides on TLS, and is not part of the address. */
  @ParameterizedTest
  @CsvSource({
    "localhost:1, localhost:1, false",
    "grpc://127.0.0.1:65535, 127.0.0.1:65535, false",
    "grpc://[::1]:50051, [::1]:50051, false",
    "grpcs://arena.example:443, arena.example:443, true",
    "unix:/tmp/socket, unix:/tmp/socket, false",
  })
  void addresses(String setting, String address, boolean tls) {
    Server server = new Settings(Map.of()).server(setting).server();
    assertEquals(address, server.address());
    assertEquals(tls, server.tls());
  }
}
