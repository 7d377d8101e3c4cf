import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.protobuf.util.JsonFormat;
import dev.happycity.Decision;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

class GreedyTest {
  private static final Path DECISIONS = Path.of("../../conformance/greedy.jsonl");

  /** Greedy decides as the reference bot does. */
  @Test
  void likeTheReference() throws IOException {
    List<String> lines = Files.readAllLines(DECISIONS);
    assertTrue(lines.size() > 100, lines.size() + " decisions");
    for (String line : lines) {
      JsonObject expected = JsonParser.parseString(line).getAsJsonObject();
      dev.happycity.v1.Decision.Builder decision = dev.happycity.v1.Decision.newBuilder();
      JsonFormat.parser().merge(expected.get("decision").toString(), decision);
      assertEquals(
          expected.get("move").getAsInt(), Greedy.choose(new Decision(decision.build())), line);
    }
  }
}
