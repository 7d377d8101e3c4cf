package dev.happycity;

import dev.happycity.v1.Decision;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;

/** A bot whose answers are given by the test. It doesn't heed interruptions, but tells of them. */
final class Thinker implements Bot {
  final BlockingQueue<Question> asked = new LinkedBlockingQueue<>();

  /** A decision that a thinker was asked. */
  record Question(
      Decision decision,
      CompletableFuture<Integer> answer,
      CompletableFuture<Boolean> interrupted) {}

  @Override
  public int choose(Decision decision) throws ExecutionException {
    Question question =
        new Question(decision, new CompletableFuture<>(), new CompletableFuture<>());
    asked.add(question);
    while (true) {
      try {
        return question.answer.get();
      } catch (InterruptedException e) {
        question.interrupted.complete(true);
      }
    }
  }
}
