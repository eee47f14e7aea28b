package io.github.kgsvc.client;

import io.github.kgsvc.client.Calls.Call;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Consumer;
import kgsvc.v1.RetrievalServiceGrpc;
import kgsvc.v1.WatchGroupInput;
import kgsvc.v1.WatchGroupResponse;

/** Follows a group over one stream after the other; done only when it is cancelled or hopeless. */
final class Watching extends CompletableFuture<Void> {
  private final Calls calls;
  private final String group;
  private final Consumer<Changes> take;
  private String cursor;
  private Attempts attempts;
  private volatile CompletableFuture<Void> open;

  Watching(Calls calls, String group, String cursor, Consumer<Changes> take) {
    this.calls = calls;
    this.group = group;
    this.cursor = cursor;
    this.take = take;
    progressed();
  }

  private void progressed() {
    attempts = new Attempts(calls.ambience, Calls.WAIT, Attempts.FOREVER);
  }

  Watching begun() {
    if (isDone()) {
      return this;
    }
    WatchGroupInput.Builder input = WatchGroupInput.newBuilder().setGroupId(group);
    Plain.set(cursor, input::setCursor);
    // What is tried again begins at another cursor.
    var call = Call.of(RetrievalServiceGrpc.getWatchGroupMethod(), input, Calls.WAIT, 1);
    open = calls.each(call, this::told, false);
    open.whenComplete((done, failure) -> ended(failure));
    if (isDone()) {
      open.cancel(true);
    }
    return this;
  }

  @Override
  public boolean cancel(boolean interrupt) {
    boolean cancelled = super.cancel(interrupt);
    if (open != null) {
      open.cancel(true);
    }
    return cancelled;
  }

  private void told(WatchGroupResponse answer) {
    take.accept(Changes.of(answer.getOutput()));
    cursor = answer.getOutput().getCursor();
    progressed();
  }

  private void ended(Throwable failure) {
    Throwable cause = failure instanceof CompletionException wrapped ? wrapped.getCause() : failure;
    if (cause == null) {
      cause = Failure.of("BROKEN", "the service ended the stream", "");
    }
    if (isDone() || calls.closed() || !(cause instanceof KgsvcException error)) {
      completeExceptionally(cause);
      return;
    }
    if (error instanceof KgsvcException.DeadlineExceeded) { // it was quiet until then
      progressed();
    }
    try {
      calls.later(attempts.pauseNs(error), this::begun);
    } catch (KgsvcException hopeless) {
      completeExceptionally(hopeless);
    }
  }
}
