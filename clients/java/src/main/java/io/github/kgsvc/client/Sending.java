package io.github.kgsvc.client;

import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.Status;
import java.util.Iterator;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import kgsvc.v1.IngestionServiceGrpc;
import kgsvc.v1.StreamEpisodesRequest;
import kgsvc.v1.StreamEpisodesResponse;

/** One run of a stream: the caller's thread reads the items, those of gRPC send them and take the answers. */
final class Sending {
  private final Calls calls;
  private final String group;
  private final Window window = new Window();
  private final Attempts attempts;
  private Exchange open; // null: between two streams
  private long answeredBefore; // when the last stream ended
  private KgsvcException last; // that may pass
  private KgsvcException failed; // for good
  private boolean over;

  Sending(Calls calls, String group) {
    this.calls = calls;
    this.group = group;
    attempts = new Attempts(calls.ambience, Attempts.ALWAYS, Attempts.FOREVER);
  }

  static void inThread(Runnable task) {
    Thread thread = new Thread(task, "kgsvc-stream");
    thread.setDaemon(true);
    thread.start();
  }

  Report run(Iterator<?> items, Converter converter) {
    reopen();
    try {
      while (items.hasNext()) {
        StreamEpisodesRequest item = converter.streamed(group, items.next());
        if (item != null) {
          put(item);
        }
      }
      return ended();
    } finally {
      stop();
    }
  }

  private synchronized void put(StreamEpisodesRequest item) {
    await(window::hasRoom);
    window.put(item);
    pump();
  }

  private synchronized Report ended() {
    window.close();
    pump();
    await(window::done);
    return window.report();
  }

  /** The caller waits no longer. */
  synchronized void stop() {
    over = true;
    if (failed == null && !window.done()) {
      failed = Failure.of("CANCELLED", "the stream was given up", "");
    }
    if (open != null && !window.done()) {
      open.call.cancel("the stream was given up", null);
    }
    notifyAll();
  }

  /** Waits. Throws when the stream failed, or nothing was answered for too long. */
  private void await(BooleanSupplier reached) {
    long answered = window.answered();
    Attempts time = new Attempts(calls.ambience, calls.timeout, 1);
    while (!reached.getAsBoolean()) {
      if (failed != null) {
        throw failed;
      }
      if (window.answered() > answered) {
        answered = window.answered();
        time = new Attempts(calls.ambience, calls.timeout, 1);
      }
      if (time.leftNs() <= 0) {
        throw stalled();
      }
      try {
        TimeUnit.NANOSECONDS.timedWait(this, time.leftNs());
      } catch (InterruptedException interrupted) {
        Thread.currentThread().interrupt();
        throw Failure.of("CANCELLED", "the thread was interrupted", "");
      }
    }
  }

  /** Nothing was answered for too long: since the last stream broke, or on one that is open. */
  private KgsvcException stalled() {
    boolean broken = last != null && window.answered() == answeredBefore;
    return broken ? last : Failure.of("DEADLINE_EXCEEDED", "nothing was answered in time", "");
  }

  /** Sends what the open stream takes now. */
  private void pump() {
    while (open != null && window.sends() && open.call.isReady()) {
      open.call.sendMessage(window.next());
    }
    if (open != null && window.ends() && !open.ended) {
      open.ended = true;
      open.call.halfClose();
    }
  }

  /** Begins the next stream. */
  private synchronized void reopen() {
    if (over) {
      return;
    }
    window.reopened();
    open = new Exchange(calls.channel.newCall(IngestionServiceGrpc.getStreamEpisodesMethod(), CallOptions.DEFAULT));
    open.call.start(open, new Metadata());
    open.call.request(Integer.MAX_VALUE);
  }

  private void broken(KgsvcException error) {
    open = null;
    if (window.answered() > answeredBefore) {
      attempts.progressed();
    }
    answeredBefore = window.answered();
    last = error;
    if (over || window.done()) {
      return;
    }
    try {
      if (calls.closed()) {
        throw error;
      }
      calls.later(attempts.pauseNs(error), this::reopen);
    } catch (KgsvcException hopeless) {
      failed = hopeless;
    }
  }

  /** One stream until its end. */
  private final class Exchange extends ClientCall.Listener<StreamEpisodesResponse> {
    private final ClientCall<StreamEpisodesRequest, StreamEpisodesResponse> call;
    private boolean ended;

    Exchange(ClientCall<StreamEpisodesRequest, StreamEpisodesResponse> call) {
      this.call = call;
    }

    private void locked(Runnable change) {
      synchronized (Sending.this) {
        if (open == this) {
          change.run();
          Sending.this.notifyAll();
        }
      }
    }

    @Override
    public void onReady() {
      locked(Sending.this::pump);
    }

    @Override
    public void onMessage(StreamEpisodesResponse answer) {
      locked(
          () -> {
            try {
              window.answer(answer);
              pump();
            } catch (KgsvcException outOfTurn) {
              failed = outOfTurn;
              call.cancel("an answer out of turn", outOfTurn);
            }
          });
    }

    @Override
    public void onClose(Status status, Metadata trailers) {
      locked(
          () ->
              broken(
                  status.isOk()
                      ? Failure.of("BROKEN", "the service ended the stream too early", "")
                      : calls.error(status, trailers, "")));
    }
  }
}
