package dev.happycity;

import com.google.protobuf.Any;
import com.google.protobuf.util.Durations;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import java.time.Duration;

/** Errors as a server makes them. */
final class Refusal {
  private Refusal() {}

  static StatusRuntimeException of(Status.Code code, String reason) {
    return exception(code, reason);
  }

  /** Returns the refusal of a call that may be made again after a delay. */
  static StatusRuntimeException of(Status.Code code, String reason, Duration delay) {
    RetryInfo retry =
        RetryInfo.newBuilder().setRetryDelay(Durations.fromMillis(delay.toMillis())).build();
    return exception(code, reason, Any.pack(retry));
  }

  private static StatusRuntimeException exception(Status.Code code, String reason, Any... more) {
    com.google.rpc.Status.Builder status =
        com.google.rpc.Status.newBuilder().setCode(code.value()).setMessage("no");
    if (!reason.isEmpty()) {
      ErrorInfo info = ErrorInfo.newBuilder().setDomain("happycity.dev").setReason(reason).build();
      status.addDetails(Any.pack(info));
    }
    for (Any detail : more) {
      status.addDetails(detail);
    }
    return StatusProto.toStatusRuntimeException(status.build());
  }
}
