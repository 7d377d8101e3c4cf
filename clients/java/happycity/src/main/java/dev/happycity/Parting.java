package dev.happycity;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.ErrorInfo;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import java.time.Duration;
import java.util.Map;
import java.util.Set;

/**
 * How a stream ended.
 *
 * @param reason the server's, as in the protocol; "" if it gave none
 * @param text one line for a person
 * @param facts the metadata of the reason
 * @param failure what this side found wrong with the server; else null
 */
record Parting(
    Status.Code code,
    String reason,
    String text,
    Map<String, String> facts,
    ConnectionException failure) {
  /** In good order. */
  static final Parting FAREWELL = new Parting(Status.Code.OK, "", "", Map.of(), null);

  static final Parting SILENCE =
      new Parting(Status.Code.UNAVAILABLE, "", "no sign of life from the server", Map.of(), null);

  private static final Set<String> PASSING_REASONS =
      Set.of("SHUTTING_DOWN", "NO_HEARTBEAT", "STALLED", "RATE_LIMITED", "TOO_MANY_STREAMS");

  /** Status codes that mean no even without a reason of the server's. */
  private static final Set<Status.Code> REFUSALS =
      Set.of(
          Status.Code.UNAUTHENTICATED,
          Status.Code.PERMISSION_DENIED,
          Status.Code.UNIMPLEMENTED,
          Status.Code.INVALID_ARGUMENT,
          Status.Code.FAILED_PRECONDITION,
          Status.Code.NOT_FOUND);

  /** Reads a stream's or a call's last error. */
  static Parting of(Throwable error) {
    Status status = Status.fromThrowable(error);
    ErrorInfo info = infoOf(error);
    return new Parting(
        status.getCode(), info.getReason(), textOf(status), info.getMetadataMap(), null);
  }

  static Parting unusable(ConnectionException failure) {
    return new Parting(failure.code(), "", failure.getMessage(), Map.of(), failure);
  }

  private static ErrorInfo infoOf(Throwable error) {
    com.google.rpc.Status status = StatusProto.fromThrowable(error);
    if (status != null) {
      for (Any detail : status.getDetailsList()) {
        if (detail.is(ErrorInfo.class)) {
          try {
            return detail.unpack(ErrorInfo.class);
          } catch (InvalidProtocolBufferException e) {
            break; // a damaged reason is none
          }
        }
      }
    }
    return ErrorInfo.getDefaultInstance();
  }

  /** What went wrong on this side tells more than gRPC's own words, which may be many lines. */
  private static String textOf(Status status) {
    Throwable cause = status.getCause();
    while (cause != null && cause.getCause() != null) {
      cause = cause.getCause();
    }
    String text = cause == null ? status.getDescription() : cause.getMessage();
    if (text == null) {
      text = cause == null ? status.getCode().toString() : cause.toString();
    }
    return text.strip().replaceAll("\\s+", " ");
  }

  /** How long the server wants to be left alone. */
  Duration retryAfter() {
    try {
      return Duration.ofMillis(Integer.parseInt(facts.getOrDefault("retry_after_ms", "0")));
    } catch (NumberFormatException e) {
      return Duration.ZERO;
    }
  }

  /** Whether another attempt may go well. */
  boolean isPassing() {
    if (failure != null) {
      return false;
    }
    if (reason.isEmpty()) {
      return !REFUSALS.contains(code);
    }
    return PASSING_REASONS.contains(reason) || code == Status.Code.UNAVAILABLE;
  }

  /** The error of a bot that the server won't have. */
  ConnectionException refused(Settings settings) {
    if (failure != null) {
      return failure;
    }
    if (reason.equals("UNSUPPORTED_VERSION")) {
      return new ConnectionException(settings, code, reason, otherVersion(settings));
    }
    String message =
        "%s ended the session of \"%s\": %s".formatted(settings.server(), settings.name(), text);
    return new ConnectionException(settings, code, reason, message);
  }

  private String otherVersion(Settings settings) {
    return ("%s speaks versions %s to %s of the protocol, this bot version %d; "
            + "update whichever is older")
        .formatted(
            settings.server(),
            facts.get("supported_min"),
            facts.get("supported_max"),
            HappyCity.PROTOCOL_VERSION);
  }

  /** The error of a bot that found no server, or lost it for good. */
  ConnectionException lost(Settings settings) {
    String advice =
        settings.isEncrypted()
            ? "is the server running there, and does it use TLS with a certificate of that CA?"
            : "is the server running there? (start one with: happycity serve)";
    return new ConnectionException(
        settings,
        code,
        reason,
        "no connection to %s: %s; %s".formatted(settings.server(), text, advice));
  }
}
