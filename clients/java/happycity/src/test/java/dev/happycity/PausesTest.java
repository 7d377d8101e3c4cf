package dev.happycity;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class PausesTest {
  /** The pauses are those of all SDKs; streams take no time. */
  @Test
  void ofAllSdks() throws IOException {
    for (String line : Files.readAllLines(Path.of("../../conformance/pauses.jsonl"))) {
      JsonObject json = JsonParser.parseString(line).getAsJsonObject();
      Pauses pauses = new Pauses(Duration.ofMillis(json.get("reconnect").getAsLong()));
      JsonArray found = new JsonArray();
      long now = 1000;
      for (JsonElement each : json.getAsJsonArray("streams")) {
        JsonObject stream = each.getAsJsonObject();
        int messages = stream.get("messages").getAsInt();
        long delay = stream.get("delay").getAsLong();
        Long pause = pauses.next(now, messages, delay, json.get("share").getAsDouble());
        found.add(pause == null ? JsonNull.INSTANCE : new JsonPrimitive(pause));
        now += pause == null ? 0 : pause;
      }
      assertEquals(json.get("pauses"), found, json.get("name").getAsString());
    }
  }
}
