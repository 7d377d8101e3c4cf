package dev.happycity;

import dev.happycity.v1.PlayRequest;
import io.grpc.stub.CallStreamObserver;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/** A call that keeps what is sent. */
final class FakeCall extends CallStreamObserver<PlayRequest> {
  final BlockingQueue<PlayRequest> sent = new LinkedBlockingQueue<>();
  volatile boolean ready = true;
  volatile boolean completed;

  @Override
  public boolean isReady() {
    return ready;
  }

  @Override
  public void onNext(PlayRequest request) {
    sent.add(request);
  }

  @Override
  public void onCompleted() {
    completed = true;
  }

  @Override
  public void onError(Throwable error) {}

  @Override
  public void setOnReadyHandler(Runnable handler) {}

  @Override
  public void disableAutoInboundFlowControl() {}

  @Override
  public void request(int count) {}

  @Override
  public void setMessageCompression(boolean enable) {}
}
