package dev.happycity;

import dev.happycity.v1.BotInfo;
import dev.happycity.v1.Hello;
import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannelRegistry.ProviderNotFoundException;
import io.grpc.TlsChannelCredentials;
import java.io.ByteArrayInputStream;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Where and as whom a bot plays. What is not set comes from the environment, or has a default. The
 * file happycity.env, or that of HAPPYCITY_ENV, has what the environment lacks.
 *
 * <p>Encryption is set by the environment alone, apart from the scheme of the server's address:
 * HAPPYCITY_CA is a file of the certificates to trust instead of those of the Java runtime,
 * HAPPYCITY_CERT and HAPPYCITY_KEY (PKCS #8) are the bot's own certificate and its key, all in PEM.
 */
public final class Settings {
  private static final int PROTOCOL_VERSION = 1; // of the contract from which the stubs are made
  private static final Pattern ADDRESS =
      Pattern.compile(
          "(?<socket>unix:.+)|((?<scheme>grpcs?)://)?"
              + "(?<address>([\\w.-]+|\\[[0-9A-Fa-f:.]+(%\\w+)?]):(?<port>\\d{1,5}))");
  private static final Pattern LINE = Pattern.compile("(HAPPYCITY_[A-Z_]+)=(.*)");

  private final Map<String, String> environment;
  private final Map<String, String> values; // by variable
  private BotInfo info = BotInfo.getDefaultInstance();
  int threads = Runtime.getRuntime().availableProcessors();
  Duration reconnect = Duration.ofMinutes(1);

  /** Takes all settings from the environment, or by default. */
  public Settings() {
    this(System.getenv());
  }

  Settings(Map<String, String> environment) {
    this.environment = environment;
    values = new HashMap<>(environment);
  }

  private Settings set(String variable, String value) {
    values.put(variable, value);
    return this;
  }

  private String get(String variable, String otherwise) {
    String value = values.getOrDefault(variable, "");
    return value.isEmpty() ? otherwise : value;
  }

  /**
   * The server's address: grpcs://host:port for one with TLS, grpc://host:port or host:port for one
   * without; HAPPYCITY_SERVER, or grpc://127.0.0.1:50051.
   */
  public Settings server(String server) {
    return set("HAPPYCITY_SERVER", server);
  }

  /**
   * The bot's name, 1 to 64 letters, digits or any of "._-+"; HAPPYCITY_NAME, or the name of the
   * token, or that of the class with the main method.
   */
  public Settings name(String name) {
    return set("HAPPYCITY_NAME", name);
  }

  /**
   * The bot's token, if the server needs one; HAPPYCITY_TOKEN, or that of the name in
   * HAPPYCITY_TOKENS.
   */
  public Settings token(String token) {
    return set("HAPPYCITY_TOKEN", token).set("HAPPYCITY_TOKENS", "");
  }

  /** The maximum number of games at once, or 0 for any number; HAPPYCITY_GAMES, or 8. */
  public Settings games(int games) {
    return set("HAPPYCITY_GAMES", Integer.toString(games));
  }

  /**
   * What the bot says of itself, for lists, standings and reports; the language is filled in, and
   * by default the version of HAPPYCITY_VERSION. Texts are one line of at most 80 characters, the
   * description of 200.
   */
  public Settings info(BotInfo info) {
    this.info = info;
    return this;
  }

  /** On how many threads bots think; by default as many as processors. */
  public Settings threads(int threads) {
    this.threads = threads;
    return this;
  }

  /** How long to look for a server that was lost; a minute by default. */
  public Settings reconnect(Duration reconnect) {
    this.reconnect = reconnect;
    return this;
  }

  /**
   * Adds what is neither set nor in the environment from the file of `happycity join`. Its tokens
   * are for one server: where the environment has an address, also an empty one, the file's CA
   * alone counts, and that only where the environment has no access of its own. Paths in the file
   * are relative to it.
   */
  private void readFile() {
    boolean otherServer = environment.containsKey("HAPPYCITY_SERVER");
    if (otherServer
        && (isGiven("HAPPYCITY_CA") || isGiven("HAPPYCITY_TOKEN") || isGiven("HAPPYCITY_TOKENS"))) {
      return;
    }
    Path path =
        Path.of(isGiven("HAPPYCITY_ENV") ? environment.get("HAPPYCITY_ENV") : "happycity.env");
    List<String> lines;
    try {
      lines = Files.readString(path).replaceFirst("^\\uFEFF", "").lines().toList();
    } catch (NoSuchFileException e) {
      if (otherServer || !isGiven("HAPPYCITY_ENV")) {
        return;
      }
      throw new HappyCityException("HAPPYCITY_ENV: there is no file " + path);
    } catch (IOException e) {
      throw new HappyCityException(path + " can't be read as text in UTF-8");
    }
    for (int i = 0; i < lines.size(); i++) {
      if (lines.get(i).isBlank() || lines.get(i).startsWith("#")) {
        continue;
      }
      Matcher line = LINE.matcher(lines.get(i).strip());
      if (!line.matches()) {
        String text = "%s:%d: it is not HAPPYCITY_NAME=VALUE";
        throw new HappyCityException(text.formatted(path, i + 1));
      }
      String name = line.group(1);
      boolean isPath = name.matches("HAPPYCITY_(CA|CERT|KEY)") && !line.group(2).isEmpty();
      if (!otherServer || name.equals("HAPPYCITY_CA")) {
        values.putIfAbsent(
            name, isPath ? path.resolveSibling(line.group(2)).toString() : line.group(2));
      }
    }
  }

  private boolean isGiven(String variable) {
    return !environment.getOrDefault(variable, "").isEmpty();
  }

  /** Returns the token for the bot's name, else the only one, "" without one. */
  private String token() {
    String own = get("HAPPYCITY_TOKEN", "");
    int number = 0;
    for (String entry : get("HAPPYCITY_TOKENS", "").split(",")) {
      if (entry.isEmpty()) {
        continue;
      }
      number++;
      String[] parts = entry.strip().split("=", 2);
      if (parts.length < 2 || parts[0].isEmpty() || parts[1].isEmpty()) {
        String text = "HAPPYCITY_TOKENS: entry %d is not NAME=TOKEN";
        throw new HappyCityException(text.formatted(number));
      }
      own = parts[0].equals(get("HAPPYCITY_NAME", "")) ? parts[1] : own;
    }
    if (!own.matches("[!-~]*")) {
      throw new HappyCityException("HAPPYCITY_TOKEN: it has a character that no token has");
    }
    return own;
  }

  /** Returns what the bot says first on a connection. */
  Hello hello() {
    readFile();
    String games = get("HAPPYCITY_GAMES", "8"); // a bot that takes 1 s for a move answers in time
    if (!games.matches("\\d{1,9}")) {
      throw new HappyCityException(
          "HAPPYCITY_GAMES: '%s' is not a number of games; 0 is any number".formatted(games));
    }
    Hello.Builder hello =
        Hello.newBuilder()
            .setProtocolVersion(PROTOCOL_VERSION)
            .setSoftware("happycity-java/" + HappyCity.VERSION);
    if (Integer.parseInt(games) > 0) {
      hello.setMaxGames(Integer.parseInt(games));
    }
    String name = get("HAPPYCITY_NAME", "");
    if (!name.isEmpty()) {
      hello.setName(name);
    } else if (token().isEmpty()) {
      hello.setName(programName());
    }
    String language = "Java " + Runtime.version().feature();
    BotInfo.Builder own = BotInfo.newBuilder().setLanguage(language);
    String version = get("HAPPYCITY_VERSION", "");
    if (!version.isEmpty()) {
      own.setVersion(version);
    }
    return hello.setInfo(own.mergeFrom(info)).build();
  }

  /** Returns the name of the class whose main method called this. */
  private static String programName() {
    return StackWalker.getInstance()
        .walk(calls -> calls.filter(call -> call.getMethodName().equals("main")).findFirst())
        .map(main -> main.getClassName().replaceFirst(".*[.$]", ""))
        .orElseThrow(() -> new HappyCityException("HAPPYCITY_NAME is missing"));
  }

  /** Reads the address and the files of TLS. */
  Server server() {
    readFile();
    String server = get("HAPPYCITY_SERVER", "grpc://127.0.0.1:50051");
    String token = token();
    Matcher parts = ADDRESS.matcher(server);
    if (!parts.matches()
        || (parts.group("port") != null && Integer.parseInt(parts.group("port")) > 65_535)) {
      String text =
          "HAPPYCITY_SERVER: '%s' is not an address such as "
              + "grpc://127.0.0.1:50051 or grpcs://arena.example:443";
      throw new HappyCityException(text.formatted(server));
    }
    boolean tls = "grpcs".equals(parts.group("scheme"));
    ChannelCredentials credentials = tls ? tls() : InsecureChannelCredentials.create();
    String address = parts.group("socket") == null ? parts.group("address") : server;
    return new Server(server, address, tls, credentials, token);
  }

  /** Reads the files of TLS; without them, the CAs of the Java runtime are trusted. */
  private ChannelCredentials tls() {
    InputStream ca = content("HAPPYCITY_CA");
    InputStream cert = content("HAPPYCITY_CERT");
    InputStream key = content("HAPPYCITY_KEY");
    if ((cert == null) != (key == null)) {
      throw new HappyCityException(
          key == null
              ? "HAPPYCITY_CERT: HAPPYCITY_KEY is needed too"
              : "HAPPYCITY_KEY: HAPPYCITY_CERT is needed too");
    }
    TlsChannelCredentials.Builder tls = TlsChannelCredentials.newBuilder();
    String what = "HAPPYCITY_CA: %s holds no certificates in PEM";
    String files = get("HAPPYCITY_CA", "");
    try {
      if (ca != null) {
        tls.trustManager(ca);
        Grpc.newChannelBuilder("localhost", tls.build()); // has the content checked
      }
      if (cert != null) {
        what = "HAPPYCITY_CERT, HAPPYCITY_KEY: %s are not a certificate and its key in PEM";
        files = get("HAPPYCITY_CERT", "") + " and " + get("HAPPYCITY_KEY", "");
        tls.keyManager(cert, key);
        Grpc.newChannelBuilder("localhost", tls.build());
      }
    } catch (IOException | IllegalArgumentException | ProviderNotFoundException e) {
      throw new HappyCityException(what.formatted(files));
    }
    return tls.build();
  }

  /** Returns the content of the file that a variable names; null if it names none. */
  private InputStream content(String variable) {
    String path = get(variable, "");
    if (path.isEmpty()) {
      return null;
    }
    try (InputStream file = new FileInputStream(path)) {
      return new ByteArrayInputStream(file.readAllBytes());
    } catch (IOException e) {
      String reason = e.getMessage().replaceFirst(".*\\((.*)\\)", "$1");
      throw new HappyCityException("%s: %s can't be read: %s".formatted(variable, path, reason));
    }
  }
}
