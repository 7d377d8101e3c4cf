package dev.happycity;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import io.grpc.Metadata;
import io.grpc.Status;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;

/**
 * How a stream or a call ended.
 *
 * @param reason the server's, as in the contract; "" if it gave none
 * @param text one line for a person
 * @param retryAfter how long the server asks to wait before another attempt, if it says so
 */
record StreamStatus(Status.Code code, String reason, String text, Optional<Duration> retryAfter) {
  /** The end in good order. */
  static final StreamStatus OK = of(Status.Code.OK, "");

  /** The domain of the contract's reasons. */
  private static final String DOMAIN = "happycity.dev";

  /** Not StatusProto's key: that throws on details that are damaged. */
  private static final Metadata.Key<byte[]> DETAILS =
      Metadata.Key.of("grpc-status-details-bin", Metadata.BINARY_BYTE_MARSHALLER);

  /** Status codes without a reason of the contract after which another attempt is pointless. */
  private static final Set<Status.Code> REFUSALS =
      Set.of(
          Status.Code.UNAUTHENTICATED,
          Status.Code.PERMISSION_DENIED,
          Status.Code.UNIMPLEMENTED,
          Status.Code.INVALID_ARGUMENT,
          Status.Code.FAILED_PRECONDITION,
          Status.Code.NOT_FOUND);

  static StreamStatus of(Status.Code code, String text) {
    return new StreamStatus(code, "", OneLine.of(text), Optional.empty());
  }

  /** Reads the error with which a stream or a call ended. */
  static StreamStatus of(Throwable error) {
    Status status = Status.fromThrowable(error);
    StreamStatus plain = of(status.getCode(), textOf(status));
    Metadata trailers = Status.trailersFromThrowable(error);
    byte[] details = trailers == null ? null : trailers.get(DETAILS);
    try {
      return details == null ? plain : plain.with(com.google.rpc.Status.parseFrom(details));
    } catch (InvalidProtocolBufferException e) {
      return plain;
    }
  }

  private StreamStatus with(com.google.rpc.Status details) throws InvalidProtocolBufferException {
    ErrorInfo info = ErrorInfo.getDefaultInstance();
    Optional<Duration> delay = Optional.empty();
    for (Any detail : details.getDetailsList()) {
      if (detail.is(ErrorInfo.class)) {
        info = detail.unpack(ErrorInfo.class);
      } else if (detail.is(RetryInfo.class)) {
        delay = Optional.of(bounded(detail.unpack(RetryInfo.class).getRetryDelay()));
      }
    }
    return info.getDomain().equals(DOMAIN)
        ? new StreamStatus(code, info.getReason(), text, delay)
        : this;
  }

  /** Returns a time that a server named, but at least zero and at most about an hour. */
  static Duration bounded(com.google.protobuf.Duration time) {
    if (time.getSeconds() < 0 || time.getNanos() < 0) {
      return Duration.ZERO;
    }
    return Duration.ofSeconds(Math.min(time.getSeconds(), 3600), time.getNanos());
  }

  /** A cause on this side says more than gRPC's own words. */
  private static String textOf(Status status) {
    Throwable cause = status.getCause();
    while (cause != null && cause.getCause() != null) {
      cause = cause.getCause();
    }
    if (cause != null) {
      return cause.getMessage() != null ? cause.getMessage() : cause.toString();
    }
    return status.getDescription() != null ? status.getDescription() : status.getCode().toString();
  }

  /** Whether another attempt may succeed. */
  boolean isRetryable() {
    if (reason.isEmpty()) {
      return !REFUSALS.contains(code);
    }
    // A reason that this version doesn't know says it by its code.
    return Reasons.RETRYABLE.contains(reason) || code == Status.Code.UNAVAILABLE;
  }

  /** The error of a bot that the server refuses. */
  ConnectionException refused(Settings settings) {
    return new ConnectionException(
        this,
        "%s ended the session of \"%s\": %s".formatted(settings.server(), settings.name(), text));
  }

  /** The error of a bot that found no server, or lost it for good. */
  ConnectionException lost(Settings settings) {
    String advice =
        settings.isEncrypted()
            ? "is the server running there, and does it use TLS with a certificate of that CA?"
            : "is the server running there? (start one with: happycity serve)";
    return new ConnectionException(
        this, "no connection to %s: %s; %s".formatted(settings.server(), text, advice));
  }
}
