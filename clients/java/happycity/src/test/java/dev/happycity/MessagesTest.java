package dev.happycity;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.protobuf.Message;
import com.google.protobuf.util.JsonFormat;
import dev.happycity.v1.PlayRequest;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import org.junit.jupiter.api.Test;

class MessagesTest {
  /** The bytes of each kind of message are read as its fields. */
  @Test
  void readAsTheirFields() throws Exception {
    List<String> lines = Files.readAllLines(Path.of("../../conformance/messages.jsonl"));
    assertTrue(lines.size() > 20, lines.size() + " messages");
    for (String line : lines) {
      JsonObject json = JsonParser.parseString(line).getAsJsonObject();
      Message.Builder expected = newBuilder(json.get("type").getAsString());
      JsonFormat.parser().merge(json.get("fields").toString(), expected);
      byte[] bytes = Base64.getDecoder().decode(json.get("bytes").getAsString());
      Message read = expected.getDefaultInstanceForType().getParserForType().parseFrom(bytes);
      assertEquals(expected.build(), read, json.get("name").getAsString());
      assertTrue(read.getUnknownFields().asMap().isEmpty(), "unknown fields");
    }
  }

  private static Message.Builder newBuilder(String type) throws ReflectiveOperationException {
    Class<?> message = Class.forName(PlayRequest.class.getPackageName() + "." + type);
    return (Message.Builder) message.getMethod("newBuilder").invoke(null);
  }
}
