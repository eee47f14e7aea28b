package io.github.kgsvc.client;

import com.google.protobuf.Message;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import kgsvc.v1.Status;
import kgsvc.v1.StreamEpisodesRequest;
import kgsvc.v1.StreamEpisodesResponse;

/**
 * One run of a stream: the caller's thread reads the items, those of gRPC send them and take the answers. Items that
 * have no answer yet are bounded in number and size, and sent again if a stream breaks; they are in the order given,
 * and their `client_ref` is their number. Iterates what is to be sent on the open stream; null: nothing at the moment.
 */
final class Sending implements Iterator<Message> {
  private static final Duration ALWAYS = Duration.ofDays(36_500);
  private static final int ITEMS = 1_024;
  private static final int BYTES = 8 << 20;

  private final ArrayDeque<StreamEpisodesRequest> sent = new ArrayDeque<>(); // on the stream that is open
  private final ArrayDeque<StreamEpisodesRequest> unsent = new ArrayDeque<>();
  private final List<Receipt.Refusal> refused = new ArrayList<>();
  private final List<String> receipts = new ArrayList<>();
  private final Calls calls;
  private final Calls.Running running;
  private long stored;
  private long duplicates;
  private long bytes;
  private long given;
  private int doubtful; // of the first: sent on a stream that broke, hence perhaps stored
  private boolean closed;

  Sending(Calls calls) {
    this.calls = calls;
    running = calls.new Running(
        new Calls.Call("StreamEpisodes", id -> reopened(), ALWAYS, Calls.FOREVER, Calls.Kind.ENDLESS, this::answered));
    running.whenComplete((done, failure) -> wake());
  }

  /** Sends all items to a group, in the thread of the caller. */
  Receipt.Report run(String group, Iterator<?> items, Converter converter) {
    try {
      while (items.hasNext()) {
        Record item = converter.item(items.next());
        if (item != null) {
          await(() -> sent.size() + unsent.size() < ITEMS && bytes < BYTES);
          put(Map.of("group_id", group, item instanceof Note ? "episode" : "message", item));
          running.pump();
        }
      }
      if (close()) {
        running.complete(null); // before the stream ends, which then is no failure
      }
      running.pump();
      await(this::done);
      return new Receipt.Report(stored, duplicates, List.copyOf(refused), List.copyOf(receipts));
    } finally {
      stop();
    }
  }

  /** The caller waits no longer. */
  void stop() { running.cancel(true); }

  private synchronized void wake() { notifyAll(); }

  /** Waits. Throws when the stream failed, or nothing was answered for too long. */
  private synchronized void await(BooleanSupplier reached) {
    long untilNs = 0;
    for (long before = -1; !reached.getAsBoolean(); ) {
      long answered = given - sent.size() - unsent.size();
      if (running.isDone()) {
        Calls.join(running); // which throws
      } else if (answered > before) {
        before = answered;
        untilNs = System.nanoTime() + calls.timeout().toNanos();
      } else if (System.nanoTime() >= untilNs) {
        throw running.stalled();
      }
      try {
        wait(Math.max(1, (untilNs - System.nanoTime()) / 1_000_000));
      } catch (InterruptedException interrupted) {
        throw Calls.interrupted();
      }
    }
  }

  private synchronized void put(Map<String, ?> item) {
    var numbered = Plain.fill(StreamEpisodesRequest.newBuilder().setClientRef(Long.toString(given++)), item).build();
    unsent.add(numbered);
    bytes += numbered.getSerializedSize();
  }

  /** No more items come. Whether all are answered. */
  private synchronized boolean close() {
    closed = true;
    return done();
  }

  /** Whether everything is answered and nothing more comes. */
  private boolean done() { return !hasNext() && sent.isEmpty(); }

  @Override
  public synchronized boolean hasNext() { return !closed || !unsent.isEmpty(); }

  @Override
  public synchronized Message next() {
    StreamEpisodesRequest next = unsent.poll();
    if (next != null) {
      sent.add(next);
    }
    return next;
  }

  /** A new stream begins: everything that is not answered is sent again. */
  private synchronized Iterator<Message> reopened() {
    doubtful = Math.max(doubtful, sent.size());
    while (!sent.isEmpty()) {
      unsent.addFirst(sent.removeLast());
    }
    return this;
  }

  /** The service has dealt with the first that waits. Whether there will be more answers. */
  private synchronized boolean answered(Message told) {
    var answer = (StreamEpisodesResponse) told;
    if (sent.isEmpty() || !answer.getClientRef().equals(sent.peek().getClientRef())) {
      throw new KgsvcException("INTERNAL", "the service answered item " + answer.getClientRef() + " out of turn", "");
    }
    bytes -= sent.remove().getSerializedSize();
    count(answer, doubtful > 0);
    calls.saw(answer.getConsistencyToken());
    doubtful = Math.max(0, doubtful - 1);
    notifyAll();
    return !done();
  }

  /** One that was sent before on a stream that broke may be a duplicate of itself. */
  private void count(StreamEpisodesResponse answer, boolean sentBefore) {
    if (answer.getStatus() == Status.STATUS_ERROR) {
      var error = answer.getError();
      long index = Long.parseLong(answer.getClientRef());
      refused.add(new Receipt.Refusal(index, error.getErrorCode(), error.getMessage()));
    } else if (answer.getDuplicate() && !sentBefore) {
      duplicates++;
    } else {
      stored++;
    }
    String receipt = answer.getReceiptId();
    if (!receipt.isEmpty() && (receipts.isEmpty() || !receipt.equals(receipts.get(receipts.size() - 1)))) {
      receipts.add(receipt);
    }
  }
}
