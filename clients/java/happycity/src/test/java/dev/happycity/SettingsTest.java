package dev.happycity;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.happycity.v1.BotInfo;
import dev.happycity.v1.Hello;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class SettingsTest {
  static Stream<String> cases() throws IOException {
    return Files.readAllLines(Path.of("../../conformance/settings.jsonl")).stream();
  }

  /** Settings come from code, environment and file as in all SDKs. */
  @ParameterizedTest
  @MethodSource("cases")
  void ofAllSdks(String line, @TempDir Path folder) throws IOException {
    JsonObject json = JsonParser.parseString(line).getAsJsonObject();
    for (Map.Entry<String, String> file : texts(json, "files").entrySet()) {
      Path path = folder.resolve(file.getKey());
      Files.writeString(path, file.getValue(), StandardCharsets.ISO_8859_1); // characters are bytes
    }
    Map<String, String> environment = texts(json, "environment");
    environment.replaceAll((name, value) -> value.replace("{folder}", folder.toString()));
    Settings settings = new Settings(environment);
    Map<String, String> given = texts(json, "given");
    if (given.containsKey("server")) {
      settings.server(given.get("server"));
    }
    if (given.containsKey("name")) {
      settings.name(given.get("name"));
    }
    if (given.containsKey("token")) {
      settings.token(given.get("token"));
    }
    if (given.containsKey("version")) {
      settings.info(BotInfo.newBuilder().setVersion(given.get("version")).build());
    }
    if (given.containsKey("games")) {
      settings.games(Integer.parseInt(given.get("games")));
    }
    if (json.has("error")) {
      HappyCityException error =
          assertThrows(HappyCityException.class, () -> Lighthouse.main(settings));
      String expected = json.get("error").getAsString().replace("{folder}", folder.toString());
      assertTrue(error.getMessage().startsWith(expected), error.getMessage());
      assertEquals(2, error.exitStatus);
      return;
    }
    Map<String, String> expected = texts(json, "settings");
    expected.replace("name", "*", "Lighthouse");
    Map<String, String> found = Lighthouse.main(settings);
    expected.forEach((key, value) -> assertEquals(value, found.get(key), key));
  }

  private static Map<String, String> texts(JsonObject json, String key) {
    Map<String, String> texts = new HashMap<>();
    if (json.has(key)) {
      for (Map.Entry<String, JsonElement> entry : json.getAsJsonObject(key).entrySet()) {
        texts.put(entry.getKey(), entry.getValue().getAsString());
      }
    }
    return texts;
  }

  /** Has the method whose class is the name of a bot without another one. */
  private static final class Lighthouse {
    static Map<String, String> main(Settings settings) {
      Server server = settings.server();
      Hello hello = settings.hello();
      return Map.of(
          "server", server.address(),
          "tls", String.valueOf(server.tls()),
          "proxy", String.valueOf(server.usesProxy()),
          "token", server.token(),
          "name", hello.getName(),
          "version", hello.getInfo().getVersion(),
          "games", String.valueOf(hello.getMaxGames()));
    }
  }

  /** The language is filled in. */
  @Test
  void info() {
    BotInfo info = BotInfo.newBuilder().setAuthor("Ann").build();
    Hello hello = new Settings(Map.of()).name("me").info(info).hello();
    assertEquals("Ann", hello.getInfo().getAuthor());
    assertEquals("Java " + Runtime.version().feature(), hello.getInfo().getLanguage());
    assertEquals("happycity-java/" + HappyCity.VERSION, hello.getSoftware());
  }
}
