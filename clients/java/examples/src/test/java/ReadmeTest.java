import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

class ReadmeTest {
  private static final Pattern PROGRAM = Pattern.compile("(?s)```java\n(.*?)```");

  /** The programs in the README are example bots, which are compiled with all others. */
  @Test
  void programs() throws IOException {
    String readme = Files.readString(Path.of("../README.md"));
    List<String> programs =
        PROGRAM.matcher(readme).results().map(program -> program.group(1)).toList();
    assertEquals(2, programs.size());
    assertEquals(Files.readString(Path.of("src/main/java/First.java")), programs.get(0));
    String counting = Files.readString(Path.of("src/main/java/Counting.java"));
    assertTrue(counting.endsWith(programs.get(1)), "this is no example:\n" + programs.get(1));
  }
}
