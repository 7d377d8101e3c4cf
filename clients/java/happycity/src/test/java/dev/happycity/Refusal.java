package dev.happycity;

import com.google.protobuf.Any;
import com.google.rpc.ErrorInfo;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import java.util.Map;

/** Errors as a server makes them. */
final class Refusal {
  private Refusal() {}

  static StatusRuntimeException of(Status.Code code, String reason, Map<String, String> facts) {
    com.google.rpc.Status.Builder status =
        com.google.rpc.Status.newBuilder().setCode(code.value()).setMessage("no");
    if (!reason.isEmpty()) {
      ErrorInfo info =
          ErrorInfo.newBuilder()
              .setDomain("happycity")
              .setReason(reason)
              .putAllMetadata(facts)
              .build();
      status.addDetails(Any.pack(info));
    }
    return StatusProto.toStatusRuntimeException(status.build());
  }
}
