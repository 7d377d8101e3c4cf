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
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/**
 * Where a bot connects, and what the errors of gRPC mean there.
 *
 * @param url the address as it is given, with its scheme
 * @param address host:port or unix:path
 * @param token the bot's; "" if it has none
 */
record Server(
    String url, String address, boolean tls, ChannelCredentials credentials, String token) {
  /** Addresses of this machine. */
  private static final Pattern HERE =
      Pattern.compile("(?i)(localhost|127[.0-9]+|\\[::1\\]|\\[::ffff:127[.0-9]+\\]):\\d+");

  private static final int LARGEST_MESSAGE = 64 << 20; // bytes, for any number of games at once

  /** Returns whether a proxy may be used: none is for this machine, or could read tokens. */
  boolean usesProxy() {
    return tls && !HERE.matcher(address).matches();
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
    if (!usesProxy()) {
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
   * @param welcomed whether the server has welcomed the bot on it
   */
  HappyCityException explain(Throwable error, boolean welcomed) {
    Throwable root = error;
    while (root.getCause() != null) {
      root = root.getCause();
    }
    if (root instanceof InvalidProtocolBufferException) {
      String text = address + " broke the protocol: " + root.getMessage();
      return new HappyCityException(text, "", 1, null);
    }
    Status status = Status.fromThrowable(error);
    String said = String.valueOf(status.getDescription());
    String reason = "";
    Long retryMillis = null;
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
    boolean lost =
        status.getCode() == Status.Code.UNAVAILABLE
            || status.getCode() == Status.Code.CANCELLED && reason.isEmpty() // by a closing server
            || status.getCause() != null
            || said.contains("HTTP/2 error code");
    if (lost && retryMillis == null) {
      retryMillis = 0L;
    }
    if (lost && reason.isEmpty() && !welcomed) {
      String cause = root == error || root.getMessage() == null ? said : root.getMessage();
      String text = "%s can't be reached: %s; `happycity status %s` says why";
      text = text.formatted(address, HappyCityException.oneLine(cause), url);
      return new HappyCityException(text, "", 2, retryMillis);
    }
    String text = address + (welcomed ? " ended the session: " : " refused the bot: ") + said;
    return new HappyCityException(text, reason, 2, retryMillis);
  }
}
