package io.github.kgsvc.client;

import java.util.Iterator;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/**
 * What is in a group, and then every change of it, without end: {@code for (Changes changes : memory.follow(cursor))}.
 * To be closed.
 */
public final class Following implements Iterable<Changes>, Iterator<Changes>, AutoCloseable {
  private static final int AHEAD = 2;

  /** What was told, or why there is no more. */
  private record Told(Changes changes, Throwable failure) {}

  private final BlockingQueue<Told> told = new ArrayBlockingQueue<>(AHEAD);
  private final CompletableFuture<Void> watching;
  private volatile boolean closed;

  Following(AsyncGroup group, String cursor) {
    watching = group.follow(cursor, changes -> put(new Told(changes, null)));
    watching.whenComplete((none, failure) -> put(new Told(null, failure)));
  }

  /** Blocks a thread of gRPC, which then reads no more, until there is room. */
  private void put(Told next) {
    try {
      if (!closed) { told.put(next); }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public Iterator<Changes> iterator() { return this; }

  /** {@return true: there is always more, if not yet} */
  @Override
  public boolean hasNext() { return true; }

  /**
   * Waits for the next changes.
   *
   * @return the changes
   * @throws KgsvcException if the service refuses it, or is away for ten minutes
   */
  @Override
  public Changes next() {
    if (closed) {
      throw Failure.of("CANCELLED", "it was closed", "");
    }
    try {
      Told next = told.take();
      if (next.failure() == null) { return next.changes(); }
      told.add(next); // for whoever asks again
      Throwable cause = next.failure() instanceof CompletionException wrapped ? wrapped.getCause() : next.failure();
      throw cause instanceof KgsvcException error ? error : Failure.of("CANCELLED", "it was closed", "");
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw Failure.of("CANCELLED", "the thread was interrupted", "");
    }
  }

  /** Ends it. */
  @Override
  public void close() {
    closed = true;
    told.clear(); // room for the one that waits
    watching.cancel(true);
    told.offer(new Told(null, Failure.of("CANCELLED", "it was closed", ""))); // for one who waits
  }
}
