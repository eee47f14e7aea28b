package kgsvc.example;

import com.google.protobuf.Timestamp;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.stub.StreamObserver;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import kgsvc.v1.AddEpisodesInput;
import kgsvc.v1.AddEpisodesRequest;
import kgsvc.v1.AddEpisodesResponse;
import kgsvc.v1.EpisodeItem;
import kgsvc.v1.FactResult;
import kgsvc.v1.IngestionServiceGrpc;
import kgsvc.v1.ItemState;
import kgsvc.v1.Message;
import kgsvc.v1.ReceiptItem;
import kgsvc.v1.RetrievalServiceGrpc;
import kgsvc.v1.RoleType;
import kgsvc.v1.SearchFactsInput;
import kgsvc.v1.SearchFactsRequest;
import kgsvc.v1.SearchFactsResponse;
import kgsvc.v1.Source;
import kgsvc.v1.Status;
import kgsvc.v1.StreamEpisodesRequest;
import kgsvc.v1.StreamEpisodesResponse;
import kgsvc.v1.WatchReceiptInput;
import kgsvc.v1.WatchReceiptRequest;
import kgsvc.v1.WatchReceiptResponse;

/**
 * The smallest use of kgsvc from Java: ingest an episode and a message, wait until both are in the graph, and find
 * what they say. Takes HOST:PORT.
 */
public final class Example {
  private static final String GROUP = "example-java";
  private static final long DEADLINE_SECONDS = 60;
  private static final Timestamp REFERENCE_TIME =
      Timestamp.newBuilder().setSeconds(Instant.parse("2025-01-15T09:00:00Z").getEpochSecond()).build();

  private final ManagedChannel channel;

  private Example(ManagedChannel channel) {
    this.channel = channel;
  }

  public static void main(String[] arguments) throws Exception {
    if (arguments.length != 1) {
      System.err.println("usage: Example HOST:PORT");
      System.exit(2);
    }
    ManagedChannel channel =
        Grpc.newChannelBuilder(arguments[0], InsecureChannelCredentials.create()).build();
    try {
      new Example(channel).run();
    } finally {
      channel.shutdownNow().awaitTermination(5, TimeUnit.SECONDS);
    }
  }

  private void run() throws Exception {
    for (String receiptId : List.of(addEpisode(), streamMessage())) {
      await(receiptId);
    }
    search("Where does Alice work?", "Acme");
    search("Where does Bob live?", "Berlin");
  }

  private IngestionServiceGrpc.IngestionServiceBlockingStub ingestion() {
    return IngestionServiceGrpc.newBlockingStub(channel)
        .withDeadlineAfter(DEADLINE_SECONDS, TimeUnit.SECONDS);
  }

  /** Returns the receipt. The uuid makes it safe to send again. */
  private String addEpisode() {
    EpisodeItem item =
        EpisodeItem.newBuilder()
            .setUuid("example-java-episode")
            .setSource(Source.SOURCE_TEXT)
            .setBody("Alice works at Acme.")
            .setReferenceTime(REFERENCE_TIME)
            .build();
    AddEpisodesResponse response =
        ingestion()
            .addEpisodes(
                AddEpisodesRequest.newBuilder()
                    .setInput(AddEpisodesInput.newBuilder().setGroupId(GROUP).addItems(item))
                    .build());
    check(response.getStatus() == Status.STATUS_ACCEPTED, "AddEpisodes: " + response);
    return response.getOutput().getReceiptId();
  }

  /** Returns the receipt of one message sent and acknowledged on a stream. */
  private String streamMessage() throws Exception {
    LastAcknowledgement acknowledged = new LastAcknowledgement();
    StreamObserver<StreamEpisodesRequest> items =
        IngestionServiceGrpc.newStub(channel)
            .withDeadlineAfter(DEADLINE_SECONDS, TimeUnit.SECONDS)
            .streamEpisodes(acknowledged);
    items.onNext(
        StreamEpisodesRequest.newBuilder()
            .setGroupId(GROUP)
            .setClientRef("message-1")
            .setMessage(
                Message.newBuilder()
                    .setUuid("example-java-message")
                    .setRoleType(RoleType.ROLE_TYPE_USER)
                    .setRole("Bob")
                    .setContent("I live in Berlin.")
                    .setTimestamp(REFERENCE_TIME))
            .build());
    items.onCompleted();
    StreamEpisodesResponse ack = acknowledged.result.get(DEADLINE_SECONDS, TimeUnit.SECONDS);
    check(ack.getStatus() == Status.STATUS_ACCEPTED, "StreamEpisodes: " + ack);
    check(ack.getClientRef().equals("message-1"), "StreamEpisodes acknowledged another item: " + ack);
    return ack.getReceiptId();
  }

  /** Follows a receipt until its items are terminal, and fails unless all are completed. */
  private void await(String receiptId) {
    Map<String, ItemState> states = new TreeMap<>();
    boolean done = false;
    WatchReceiptRequest request =
        WatchReceiptRequest.newBuilder()
            .setInput(WatchReceiptInput.newBuilder().setReceiptId(receiptId))
            .build();
    for (var watch = ingestion().watchReceipt(request); watch.hasNext(); ) {
      WatchReceiptResponse response = watch.next();
      check(response.getStatus() == Status.STATUS_OK, "WatchReceipt: " + response);
      for (ReceiptItem item : response.getOutput().getItemsList()) {
        states.put(item.getUuid(), item.getState());
      }
      done = response.getOutput().getDone();
    }
    check(done && !states.isEmpty(), "the watch of receipt " + receiptId + " ended early");
    states.forEach(
        (uuid, state) -> {
          check(state == ItemState.ITEM_STATE_COMPLETED, "item " + uuid + " ended as " + state);
          System.out.println("item " + uuid + " is " + state);
        });
  }

  /** Prints the facts found and fails unless one of them says what is expected. */
  private void search(String query, String expected) {
    SearchFactsInput input =
        SearchFactsInput.newBuilder().addGroupIds(GROUP).setQuery(query).build();
    SearchFactsResponse response =
        RetrievalServiceGrpc.newBlockingStub(channel)
            .withDeadlineAfter(DEADLINE_SECONDS, TimeUnit.SECONDS)
            .searchFacts(SearchFactsRequest.newBuilder().setInput(input).build());
    check(response.getStatus() == Status.STATUS_OK, "SearchFacts: " + response);
    List<FactResult> facts = response.getOutput().getFactsList();
    for (FactResult fact : facts) {
      System.out.printf(
          "%s -> %s [%s] told by %s%n", query, fact.getFact(), fact.getName(), fact.getEpisodesList());
    }
    check(
        facts.stream().anyMatch(fact -> fact.getFact().contains(expected)),
        "no fact found for \"" + query + "\" names " + expected);
  }

  private static void check(boolean holds, String otherwise) {
    if (!holds) {
      throw new IllegalStateException(otherwise);
    }
  }

  /** Waits for the end of the stream and keeps the last acknowledgement on it. */
  private static final class LastAcknowledgement implements StreamObserver<StreamEpisodesResponse> {
    private final CompletableFuture<StreamEpisodesResponse> result = new CompletableFuture<>();
    private StreamEpisodesResponse last;

    @Override
    public void onNext(StreamEpisodesResponse ack) {
      last = ack;
    }

    @Override
    public void onError(Throwable error) {
      result.completeExceptionally(error);
    }

    @Override
    public void onCompleted() {
      if (last == null) {
        result.completeExceptionally(new IllegalStateException("StreamEpisodes acknowledged nothing"));
      } else {
        result.complete(last);
      }
    }
  }
}
