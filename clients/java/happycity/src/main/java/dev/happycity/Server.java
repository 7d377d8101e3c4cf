package dev.happycity;

import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.stub.MetadataUtils;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;

/**
 * Where bots connect.
 *
 * @param address host:port or unix:path
 * @param token the bot's; "" if it has none
 */
record Server(String address, boolean tls, ChannelCredentials credentials, String token) {
  /** How many bytes a message may have: a batch can hold any number of games. */
  private static final int LARGEST_MESSAGE = 64 << 20;

  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  /** How long a server may take to connect or to answer when it is asked for HTTP/2. */
  private static final int PROBE_MILLIS = 2000;

  /** What an HTTP/2 client sends first, with an empty SETTINGS frame. */
  private static final String PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";

  private static final int FRAME_HEADER = 9;
  private static final int SETTINGS_FRAME = 4;

  @Override
  public String toString() {
    return address;
  }

  /** Prepares a connection, which is made with the first call. The caller shuts it down. */
  ManagedChannel newChannel() {
    ManagedChannelBuilder<?> channel =
        Grpc.newChannelBuilder(address, credentials)
            .directExecutor() // nothing here blocks
            .disableRetry() // the session does that
            .maxInboundMessageSize(LARGEST_MESSAGE)
            .keepAliveTime(30, TimeUnit.SECONDS) // the server allows a ping every 10 s
            .keepAliveTimeout(10, TimeUnit.SECONDS)
            .keepAliveWithoutCalls(true);
    if (!token.isEmpty()) {
      Metadata headers = new Metadata();
      headers.put(AUTHORIZATION, "Bearer " + token);
      channel.intercept(MetadataUtils.newAttachHeadersInterceptor(headers));
    }
    return channel.build();
  }

  /**
   * Returns whether the server speaks HTTP/2 without TLS.
   *
   * @throws IOException if it can't be reached
   */
  boolean answersInPlainText() throws IOException {
    if (address.startsWith("unix:")) {
      return true;
    }
    int colon = address.lastIndexOf(':');
    String host = address.substring(0, colon);
    int port = Integer.parseInt(address.substring(colon + 1));
    try (Socket socket = new Socket()) {
      socket.connect(new InetSocketAddress(host, port), PROBE_MILLIS);
      return sendsSettings(socket);
    }
  }

  private static boolean sendsSettings(Socket socket) {
    try {
      socket.setSoTimeout(PROBE_MILLIS);
      socket.getOutputStream().write(PREFACE.getBytes(StandardCharsets.US_ASCII));
      byte[] header = socket.getInputStream().readNBytes(FRAME_HEADER);
      return header.length == FRAME_HEADER && header[3] == SETTINGS_FRAME;
    } catch (IOException e) {
      return false;
    }
  }
}
