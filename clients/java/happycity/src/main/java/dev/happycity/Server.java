package dev.happycity;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.util.Durations;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.MetadataUtils;
import java.io.FileNotFoundException;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.UnknownHostException;
import java.security.cert.CertificateException;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Where a bot connects, and what the errors of gRPC mean there.
 *
 * @param address host:port or unix:path
 * @param token the bot's; "" if it has none
 */
record Server(String address, boolean tls, ChannelCredentials credentials, String token) {
  /** Addresses of this machine; proxies are for encrypted connections to other ones. */
  private static final Pattern HERE =
      Pattern.compile("(?i)(localhost|127[.0-9]+|\\[::1\\]|\\[::ffff:127[.0-9]+\\]):\\d+");

  private static final int LARGEST_MESSAGE = 64 << 20; // bytes, for any number of games at once

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
    if (!tls || HERE.matcher(address).matches()) {
      channel.proxyDetector(target -> null);
    }
    if (!token.isEmpty()) {
      Metadata headers = new Metadata();
      headers.put(
          Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER), "Bearer " + token);
      channel.intercept(MetadataUtils.newAttachHeadersInterceptor(headers));
    }
    return channel.build();
  }

  /**
   * Returns what the error of a stream means.
   *
   * @param connected whether the stream had a connection by HTTP/2
   * @param welcomed whether the server has welcomed the bot on it
   */
  HappyCityException explain(Throwable error, boolean connected, boolean welcomed) {
    List<Throwable> causes = Stream.iterate(error, Objects::nonNull, Throwable::getCause).toList();
    InvalidProtocolBufferException broken = find(causes, InvalidProtocolBufferException.class);
    if (broken != null) {
      String text = address + " broke the protocol: " + broken.getMessage();
      return new HappyCityException(text, "", 1, null);
    }
    Status status = Status.fromThrowable(error);
    String said = String.valueOf(status.getDescription());
    boolean lost =
        status.getCode() == Status.Code.UNAVAILABLE
            || status.getCause() != null
            || said.contains("HTTP/2 error code");
    String reason = "";
    Long retryMillis = lost ? 0L : null;
    try {
      for (Any detail : StatusProto.fromThrowable(error).getDetailsList()) {
        if (detail.is(ErrorInfo.class)) {
          reason = detail.unpack(ErrorInfo.class).getReason();
        } else if (detail.is(RetryInfo.class)) {
          retryMillis = Durations.toMillis(detail.unpack(RetryInfo.class).getRetryDelay());
        }
      }
    } catch (IllegalArgumentException | InvalidProtocolBufferException e) {
      // damaged details; the code and the text say enough
    }
    if (lost && reason.isEmpty()) {
      return new HappyCityException(whyLost(causes, said, connected), "", 2, retryMillis);
    }
    String text = address + (welcomed ? " ended the session: " : " refused the bot: ") + said;
    return new HappyCityException(text, reason, 2, retryMillis);
  }

  /** Returns why there is no connection, from what gRPC met and said. */
  private String whyLost(List<Throwable> causes, String said, boolean connected) {
    CertificateException certificate = find(causes, CertificateException.class);
    if (certificate != null) {
      // Java's text of another name is "No name matching ..." or "No subject alternative ..."
      return certificate.getMessage().startsWith("No ")
          ? "the certificate of " + address + " is for another name"
          : "the certificate of %s is not trusted; set HAPPYCITY_CA to the file of its CA"
              .formatted(address);
    }
    if (find(causes, UnknownHostException.class) != null) {
      return "the host name of " + address + " can't be resolved";
    }
    if (find(causes, ConnectException.class) != null
        || find(causes, FileNotFoundException.class) != null) { // of unix:path
      return "nothing listens on " + address + "; start a server there with: happycity serve";
    }
    Throwable root = causes.get(causes.size() - 1);
    boolean silent = causes.size() == 1 || root.getMessage() == null;
    String reason = silent ? said : root.getMessage();
    if (reason.startsWith("not an SSL/TLS record")) {
      return address + " does not use TLS; write HAPPYCITY_SERVER=grpc://" + address;
    }
    if (!connected && !tls && !(root instanceof NoRouteToHostException)) {
      return address
          + " does not answer without TLS; if it uses TLS, write HAPPYCITY_SERVER=grpcs://"
          + address;
    }
    return address + " can't be reached: " + reason;
  }

  /** Returns the first cause of a type; null if there is none. */
  private static <T extends Throwable> T find(List<Throwable> causes, Class<T> type) {
    return causes.stream().filter(type::isInstance).map(type::cast).findFirst().orElse(null);
  }
}
