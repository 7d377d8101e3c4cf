package dev.happycity;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.util.Durations;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import io.grpc.Metadata;
import io.grpc.Status;
import java.io.IOException;
import java.net.UnknownHostException;
import java.security.cert.CertificateException;

/**
 * Why a stream ended.
 *
 * @param error what to tell the bot's author
 * @param retryable whether another attempt may succeed
 * @param delayMillis how long the server asks to wait before that, or 0
 */
record Failure(HappyCityException error, boolean retryable, long delayMillis) {
  private static final Metadata.Key<byte[]> DETAILS =
      Metadata.Key.of("grpc-status-details-bin", Metadata.BINARY_BYTE_MARSHALLER);

  private Failure(String text, boolean retryable) {
    this(new HappyCityException(text), retryable, 0);
  }

  /**
   * Returns what the error of a stream means.
   *
   * @param welcomed whether the server has welcomed the bot on this stream
   * @param known whether it has done so on any
   */
  static Failure of(Throwable error, Server server, boolean welcomed, boolean known) {
    HappyCityException broken = find(error, HappyCityException.class);
    if (find(error, InvalidProtocolBufferException.class) != null) {
      broken = HappyCityException.brokenProtocol(server, "a message that can't be decoded");
    }
    if (broken != null) {
      return new Failure(broken, false, 0);
    }
    Status status = Status.fromThrowable(error);
    String text = String.valueOf(status.getDescription());
    Metadata trailers = Status.trailersFromThrowable(error);
    byte[] details = trailers == null ? null : trailers.get(DETAILS);
    boolean unavailable = status.getCode() == Status.Code.UNAVAILABLE;
    if (details == null
        && (unavailable || status.getCause() != null || text.contains("HTTP/2 error code"))) {
      return welcomed ? unreachable(server, error) : ofConnecting(error, server, known);
    }
    String what = welcomed ? "ended the session" : "refused the bot";
    return ofStatus("%s %s: %s".formatted(server, what, text), unavailable, details);
  }

  /** Returns the failure of a status that the server sent; its details are null if it has none. */
  private static Failure ofStatus(String text, boolean unavailable, byte[] details) {
    String reason = "";
    boolean retryable = unavailable;
    long delay = 0;
    try {
      byte[] bytes = details == null ? new byte[0] : details;
      for (Any detail : com.google.rpc.Status.parseFrom(bytes).getDetailsList()) {
        if (detail.is(ErrorInfo.class)) {
          reason = detail.unpack(ErrorInfo.class).getReason();
        } else if (detail.is(RetryInfo.class)) {
          retryable = true;
          delay = Durations.toMillis(detail.unpack(RetryInfo.class).getRetryDelay());
        }
      }
    } catch (InvalidProtocolBufferException e) {
      // damaged details; the code and the text say enough
    }
    return new Failure(new HappyCityException(text, reason, 2), retryable, delay);
  }

  /** Finds out why there is no connection. */
  private static Failure ofConnecting(Throwable error, Server server, boolean known) {
    CertificateException certificate = find(error, CertificateException.class);
    if (certificate != null) {
      // Java's text of another name is "No name matching ..." or "No subject alternative ..."
      String problem =
          certificate.getMessage().startsWith("No ")
              ? "for another name"
              : "not trusted; set HAPPYCITY_CA to the file of its CA";
      return new Failure("the certificate of %s is %s".formatted(server, problem), false);
    }
    try {
      boolean plain = server.answersInPlainText();
      if (plain == server.tls()) {
        String text =
            plain
                ? "%1$s does not use TLS; write HAPPYCITY_SERVER=grpc://%1$s"
                : "%1$s does not answer without TLS; "
                    + "if it uses TLS, write HAPPYCITY_SERVER=grpcs://%1$s";
        return new Failure(text.formatted(server), known);
      }
    } catch (UnknownHostException e) {
      return new Failure("the host name of %s can't be resolved".formatted(server), true);
    } catch (IOException e) {
      if (!String.valueOf(e.getMessage()).contains("refused")) {
        return unreachable(server, e);
      }
      String text = "nothing listens on %s; start a server there with: happycity serve";
      return new Failure(text.formatted(server), true);
    }
    return unreachable(server, error);
  }

  /** Returns a failure with the first cause of an error, as gRPC's own words say less. */
  private static Failure unreachable(Server server, Throwable error) {
    Throwable root = error;
    while (root.getCause() != null) {
      root = root.getCause();
    }
    String reason = root.getMessage() == null ? root.toString() : root.getMessage();
    return new Failure("%s can't be reached: %s".formatted(server, reason), true);
  }

  /** Returns the first cause of a type in the chain of an error; null if there is none. */
  private static <T extends Throwable> T find(Throwable error, Class<T> type) {
    if (error == null || type.isInstance(error)) {
      return type.cast(error);
    }
    return find(error.getCause(), type);
  }
}
