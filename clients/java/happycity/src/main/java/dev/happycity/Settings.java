package dev.happycity;

import dev.happycity.v1.BotInfo;
import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.ManagedChannelRegistry.ProviderNotFoundException;
import io.grpc.Metadata;
import io.grpc.stub.MetadataUtils;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.function.Consumer;

/** Where and as whom a bot plays. */
public final class Settings {
  /** Where a server listens by default. */
  public static final String DEFAULT_SERVER = "127.0.0.1:50051";

  /** Few, so that a bot that takes a second for a move answers all of them in time. */
  public static final int DEFAULT_GAMES = 8;

  /** Leaves it to the server how many games a bot plays at once. */
  public static final int UNLIMITED = 0;

  /** How long a bot that lost its server tries to find it again. */
  public static final Duration DEFAULT_RECONNECT = Duration.ofMinutes(1);

  /** As good as for ever, and it can be counted in nanoseconds. */
  private static final Duration LONGEST = Duration.ofDays(3650);

  /** As many bytes as the server may send in one batch, which can hold any number of games. */
  private static final int LARGEST_MESSAGE = 64 << 20;

  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  private final String name;
  private final BotInfo info;
  private final String server;
  private final String token;
  private final int games;
  private final int thinkers;
  private final Duration wait;
  private final Duration reconnect;
  private final boolean insecure;
  private final boolean encrypted;
  private final ChannelCredentials credentials;

  private Settings(Builder builder, Map<String, String> environment) {
    Environment env = new Environment(environment);
    name = env.text(builder.name, "NAME", Program::name);
    info = withLanguage(builder.info);
    server = env.text(builder.server, "SERVER", () -> DEFAULT_SERVER);
    token = env.text(builder.token, "TOKEN", () -> "");
    games = env.games(builder.games, "GAMES", DEFAULT_GAMES);
    thinkers = builder.thinkers;
    wait = builder.wait;
    reconnect = builder.reconnect;
    Encryption encryption =
        new Encryption(
            env.isOn(builder.tls, "TLS"),
            env.file(builder.ca, "CA"),
            env.file(builder.cert, "CERT"),
            env.file(builder.key, "KEY"));
    encrypted = encryption.isWanted();
    credentials = encryption.credentials();
    insecure = env.isOn(builder.insecure, "INSECURE");
    check();
  }

  private Settings(Settings ofServer, String address) {
    name = ofServer.name;
    info = ofServer.info;
    server = address;
    token = ofServer.token;
    games = ofServer.games;
    thinkers = ofServer.thinkers;
    // When the server is lost for good, its workers are given up too.
    wait = LONGEST;
    reconnect = LONGEST;
    insecure = ofServer.insecure;
    encrypted = ofServer.encrypted;
    credentials = ofServer.credentials;
    check();
  }

  private void check() {
    if (!Address.isPortPossible(server)) {
      throw noAddress(null);
    }
    if (!token.isEmpty() && !encrypted && !insecure && !Address.isLoopback(server)) {
      throw new SettingException(
          "token",
          ("it would travel unencrypted to %s; use TLS (HAPPYCITY_TLS=1 or HAPPYCITY_CA=FILE), "
                  + "or allow it with HAPPYCITY_INSECURE=1")
              .formatted(server));
    }
  }

  /** Returns settings that are all to be taken from the environment, or by default. */
  public static Builder builder() {
    return new Builder();
  }

  /** The bot's name. */
  public String name() {
    return name;
  }

  /** What the bot says of itself. */
  public BotInfo info() {
    return info;
  }

  /** The server's address. */
  public String server() {
    return server;
  }

  /** How many games are played at once at most, or {@link #UNLIMITED}. */
  public int games() {
    return games;
  }

  /** How many decisions are thought about at once at most. */
  public int thinkers() {
    return thinkers;
  }

  /**
   * Returns the same for a worker of the server.
   *
   * @throws SettingException if the address can't be used
   */
  Settings ofWorker(String address) {
    return new Settings(this, address);
  }

  Duration waitTime() {
    return wait;
  }

  Duration reconnectTime() {
    return reconnect;
  }

  boolean isEncrypted() {
    return encrypted;
  }

  /**
   * Prepares a connection for the other services of the bot's server, such as its simulations: with
   * the same token and TLS. Nothing is sent before the first call, so a server that isn't there is
   * no error yet. The caller shuts the channel down.
   *
   * @throws SettingException if the address can't be used
   */
  public ManagedChannel channel() {
    return channel(options -> {});
  }

  ManagedChannel channel(Consumer<ManagedChannelBuilder<?>> options) {
    try {
      ManagedChannelBuilder<?> channel = Grpc.newChannelBuilder(server, credentials);
      if (!token.isEmpty()) {
        Metadata headers = new Metadata();
        headers.put(AUTHORIZATION, "Bearer " + token);
        channel.intercept(MetadataUtils.newAttachHeadersInterceptor(headers));
      }
      options.accept(channel);
      return channel.maxInboundMessageSize(LARGEST_MESSAGE).build();
    } catch (IllegalArgumentException | ProviderNotFoundException e) {
      throw noAddress(e);
    }
  }

  private static BotInfo withLanguage(BotInfo info) {
    String language = "Java " + Runtime.version().feature();
    return info.getLanguage().isEmpty() ? info.toBuilder().setLanguage(language).build() : info;
  }

  private SettingException noAddress(RuntimeException cause) {
    return new SettingException("server", "\"%s\" is no address".formatted(server), cause);
  }

  /** Gathers settings. What is left out comes from the environment, or has a default. */
  public static final class Builder {
    private String name;
    private BotInfo info = BotInfo.getDefaultInstance();
    private String server;
    private String token;
    private Integer games;
    private int thinkers = Runtime.getRuntime().availableProcessors();
    private Boolean tls;
    private Path ca;
    private Path cert;
    private Path key;
    private Boolean insecure;
    private Duration wait = Duration.ZERO;
    private Duration reconnect = DEFAULT_RECONNECT;

    private Builder() {}

    /**
     * The bot's name, 1 to 64 letters, digits or any of "._-+"; HAPPYCITY_NAME, or the program's.
     */
    public Builder name(String name) {
      this.name = name;
      return this;
    }

    /**
     * What the bot says of itself, for lists, standings and reports; the language is filled in.
     * Texts are one line of at most 80 characters, the description of 200.
     */
    public Builder info(BotInfo info) {
      this.info = info;
      return this;
    }

    /** An address, host:port; HAPPYCITY_SERVER, or {@link #DEFAULT_SERVER}. */
    public Builder server(String server) {
      this.server = server;
      return this;
    }

    /** The bot's token, if the server needs one; HAPPYCITY_TOKEN. */
    public Builder token(String token) {
      this.token = token;
      return this;
    }

    /**
     * How many games are played at once at most, or {@link #UNLIMITED}; HAPPYCITY_GAMES, or {@link
     * #DEFAULT_GAMES}.
     */
    public Builder games(int games) {
      if (games < 0) {
        throw new SettingException("games", games + " is not a number of games");
      }
      this.games = games;
      return this;
    }

    /** How many decisions are thought about at once at most; by default as many as processors. */
    public Builder thinkers(int thinkers) {
      if (thinkers < 1) {
        throw new SettingException("thinkers", "there have to be 1 or more, not " + thinkers);
      }
      this.thinkers = thinkers;
      return this;
    }

    /**
     * Whether to encrypt the connection; HAPPYCITY_TLS (0 or 1). A CA or a certificate implies it.
     */
    public Builder tls(boolean tls) {
      this.tls = tls;
      return this;
    }

    /** A file of the certificates to trust, in PEM; HAPPYCITY_CA, or those of the Java runtime. */
    public Builder ca(Path ca) {
      this.ca = ca;
      return this;
    }

    /** A file of the bot's own certificate, in PEM, if the server needs one; HAPPYCITY_CERT. */
    public Builder cert(Path cert) {
      this.cert = cert;
      return this;
    }

    /** A file of the certificate's key, PKCS #8 in PEM; HAPPYCITY_KEY. */
    public Builder key(Path key) {
      this.key = key;
      return this;
    }

    /** Whether a token may travel unencrypted to another machine; HAPPYCITY_INSECURE (0 or 1). */
    public Builder insecure(boolean insecure) {
      this.insecure = insecure;
      return this;
    }

    /** How long to wait for a server that isn't there yet; by default not at all. */
    public Builder wait(Duration wait) {
      this.wait = wait;
      return this;
    }

    /** How long to try after a connection was lost; by default {@link #DEFAULT_RECONNECT}. */
    public Builder reconnect(Duration reconnect) {
      this.reconnect = reconnect;
      return this;
    }

    /**
     * Fills in what was left out, and reads the files of TLS.
     *
     * @throws SettingException if a setting can't be used
     */
    public Settings build() {
      return build(System.getenv());
    }

    Settings build(Map<String, String> environment) {
      return new Settings(this, environment);
    }
  }
}
