package dev.happycity;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;

/** A bot that leaves the choice to the test. It ignores interruptions, but reports them. */
final class Thinker implements Bot {
  final BlockingQueue<Question> asked = new LinkedBlockingQueue<>();

  /** A decision that waits for the test. */
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
