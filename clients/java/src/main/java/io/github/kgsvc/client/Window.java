package io.github.kgsvc.client;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import kgsvc.v1.Status;
import kgsvc.v1.StreamEpisodesRequest;
import kgsvc.v1.StreamEpisodesResponse;

/**
 * What a stream has sent or will send and has no answer for yet: bounded, and sent again if a stream breaks. Items are
 * in the order given; their `client_ref` is their number. It waits for nothing and talks to nobody.
 */
final class Window {
  private static final int ITEMS = 1_024;
  private static final int BYTES = 8 << 20;

  private final Deque<StreamEpisodesRequest> sent = new ArrayDeque<>(); // on the stream that is open
  private final Deque<StreamEpisodesRequest> unsent = new ArrayDeque<>();
  private final List<Refusal> refused = new ArrayList<>();
  private final List<String> receipts = new ArrayList<>();
  private long stored;
  private long duplicates;
  private long bytes;
  private long given;
  private int doubtful; // of the first: sent on a stream that broke, hence perhaps stored
  private boolean closed;

  long answered() { return given - sent.size() - unsent.size(); }

  boolean hasRoom() { return sent.size() + unsent.size() < ITEMS && bytes < BYTES; }

  /** Whether nothing more will be sent on the open stream. */
  boolean ends() { return closed && unsent.isEmpty(); }

  /** Whether everything is answered and nothing more comes. */
  boolean done() { return ends() && sent.isEmpty(); }

  void put(StreamEpisodesRequest request) {
    StreamEpisodesRequest numbered = request.toBuilder().setClientRef(Long.toString(given++)).build();
    unsent.add(numbered);
    bytes += numbered.getSerializedSize();
  }

  /** No more items come. */
  void close() { closed = true; }

  boolean sends() { return !unsent.isEmpty(); }

  /** The item to send now. */
  StreamEpisodesRequest next() {
    StreamEpisodesRequest next = unsent.remove();
    sent.add(next);
    return next;
  }

  /** The service has dealt with the first that waits. */
  void answer(StreamEpisodesResponse answer) {
    if (sent.isEmpty() || !answer.getClientRef().equals(sent.peek().getClientRef())) {
      throw Failure.of("INTERNAL", "the service answered item " + answer.getClientRef() + " out of turn", "");
    }
    bytes -= sent.remove().getSerializedSize();
    count(answer, doubtful > 0);
    doubtful = Math.max(0, doubtful - 1);
  }

  /** One that was sent before on a stream that broke may be a duplicate of itself. */
  private void count(StreamEpisodesResponse answer, boolean sentBefore) {
    if (answer.getStatus() == Status.STATUS_ERROR) {
      var error = answer.getError();
      refused.add(new Refusal(Long.parseLong(answer.getClientRef()), error.getErrorCode(), error.getMessage()));
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

  /** A new stream begins: everything that is not answered is sent again. */
  void reopened() {
    doubtful = Math.max(doubtful, sent.size());
    while (!sent.isEmpty()) { unsent.addFirst(sent.removeLast()); }
  }

  Report report() { return new Report(stored, duplicates, List.copyOf(refused), List.copyOf(receipts)); }
}
