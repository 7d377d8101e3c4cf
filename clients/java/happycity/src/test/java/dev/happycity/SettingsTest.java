package dev.happycity;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.happycity.v1.BotInfo;
import dev.happycity.v1.Hello;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
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

  /** A file has what the environment lacks; its paths are relative to it. */
  @Test
  void settingsFile(@TempDir Path folder) throws IOException {
    Path file = folder.resolve("my.env");
    Files.writeString(
        file,
        """
        # text

        HAPPYCITY_SERVER=grpcs://a:1\r
        HAPPYCITY_CA=absent.pem
        HAPPYCITY_TOKEN=first
        HAPPYCITY_TOKENS=ann=first,bob=second
        """);
    Map<String, String> named = Map.of("HAPPYCITY_ENV", file.toString());
    String ca = "HAPPYCITY_CA: %s can't be read: ".formatted(folder.resolve("absent.pem"));
    assertTrue(refused(named).startsWith(ca), refused(named));
    Settings plain = new Settings(named).server("grpc://a:1");
    assertEquals("first", plain.server().token());
    assertFalse(plain.hello().hasName());
    assertEquals("second", plain.name("bob").server().token());
    assertEquals("own", plain.token("own").server().token());
    Map<String, String> other =
        Map.of("HAPPYCITY_ENV", file.toString(), "HAPPYCITY_SERVER", "grpc://b:1");
    assertEquals("", new Settings(other).server().token());
    Files.writeString(file, "HAPPYCITY_TOKEN=1\nPATH=/tmp\n");
    assertEquals(file + ":2: it is not HAPPYCITY_NAME=VALUE", refused(named));
    Files.write(file, new byte[] {-1});
    assertEquals(file + " can't be read as text in UTF-8", refused(named));
    String absent = "HAPPYCITY_ENV: there is no file /absent.env";
    assertEquals(absent, refused(Map.of("HAPPYCITY_ENV", "/absent.env")));
    String entry = "HAPPYCITY_TOKENS: entry 1 is not NAME=TOKEN";
    assertEquals(entry, refused(Map.of("HAPPYCITY_TOKENS", "ann")));
  }

  private static String refused(Map<String, String> environment) {
    Settings settings = new Settings(environment);
    return assertThrows(HappyCityException.class, settings::server).getMessage();
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
