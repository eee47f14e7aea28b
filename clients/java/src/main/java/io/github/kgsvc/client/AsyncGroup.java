package io.github.kgsvc.client;

import io.github.kgsvc.client.Calls.Call;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.time.Instant;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Stream;
import kgsvc.v1.*;

/** The memory of a tenant, for programs that do not block; {@link Group} says what each method does. */
public final class AsyncGroup {
  private static final Duration ANSWERED = Duration.ofMinutes(2);
  private static final long LOOK_NS = 250_000_000;

  final Calls calls;
  private final String id;

  AsyncGroup(Calls calls, String id) {
    this.calls = calls;
    this.id = id;
  }

  /** {@return the group} */
  public String id() { return id; }

  private Instant now() { return calls.ambience.clock().instant(); }

  /**
   * Adds a text.
   *
   * @param text the text
   * @return what was added
   */
  public CompletableFuture<Receipt> add(String text) { return add(List.of(text), new Add()); }

  /**
   * Adds items: all or none.
   *
   * @param items as {@link Group#add(List, Add)} takes them
   * @param how when they were the case, and whether to wait
   * @return what was added
   */
  public CompletableFuture<Receipt> add(List<?> items, Add how) {
    Converter converter = new Converter(how.time() == null ? now() : how.time());
    List<Object> sent = items.stream().<Object>map(converter::item).filter(Objects::nonNull).toList();
    if (sent.isEmpty()) { return CompletableFuture.completedFuture(new Receipt("", List.of())); }
    String key = how.key() == null ? calls.ambience.newId().get() : how.key();
    List<kgsvc.v1.Message> messages = of(kgsvc.v1.Message.class, sent);
    List<EpisodeItem> notes = of(EpisodeItem.class, sent);
    if (!messages.isEmpty() && !notes.isEmpty()) {
      throw new IllegalArgumentException("messages and notes go in calls of their own, or in stream()");
    }
    var receipt =
        notes.isEmpty()
            ? calls.one(
                IngestionServiceGrpc.getAddMessagesMethod(),
                AddMessagesInput.newBuilder().setGroupId(id).addAllMessages(messages),
                key,
                (AddMessagesOutput added) -> Receipt.of(added.getReceiptId(), added.getItemsList()))
            : calls.one(
                IngestionServiceGrpc.getAddEpisodesMethod(),
                AddEpisodesInput.newBuilder().setGroupId(id).addAllItems(notes),
                key,
                (AddEpisodesOutput added) -> Receipt.of(added.getReceiptId(), added.getItemsList()));
    return how.waits() ? Calls.next(receipt, added -> Calls.then(wait(added), outcome -> added)) : receipt;
  }

  private static <T> List<T> of(Class<T> kind, List<Object> items) {
    return items.stream().filter(kind::isInstance).map(kind::cast).toList();
  }

  /**
   * Waits until all items are in the graph, parked or deleted; for ten minutes.
   *
   * @param added a receipt, a document or a report
   * @return what became of the items
   */
  public CompletableFuture<Outcome> wait(Waitable added) { return wait(added, Calls.WAIT); }

  /**
   * Waits until all items are in the graph, parked or deleted.
   *
   * @param added a receipt, a document or a report
   * @param within for how long
   * @return what became of the items
   */
  public CompletableFuture<Outcome> wait(Waitable added, Duration within) {
    long untilNs = calls.ambience.nanoTime().getAsLong() + within.toNanos();
    Map<String, Item> items = Collections.synchronizedMap(new LinkedHashMap<>());
    CompletableFuture<Void> done = CompletableFuture.completedFuture(null);
    for (String receipt : added.receipts()) { done = Calls.next(done, before -> watched(receipt, untilNs, items)); }
    return Calls.then(done, all -> new Outcome(items));
  }

  private CompletableFuture<Void> watched(String receipt, long untilNs, Map<String, Item> items) {
    Duration left = Duration.ofNanos(untilNs - calls.ambience.nanoTime().getAsLong());
    var input = WatchReceiptInput.newBuilder().setReceiptId(receipt);
    var call = Call.of(IngestionServiceGrpc.getWatchReceiptMethod(), input, left, Attempts.FOREVER);
    return calls.each(
        call, told -> told.getOutput().getItemsList().forEach(each -> items.put(each.getUuid(), Item.of(each))), false);
  }

  /**
   * Finds what bears on a query.
   *
   * @param query what is asked
   * @return what was found
   */
  public CompletableFuture<Found> search(Query query) {
    var input = SearchGraphInput.newBuilder().addGroupIds(id).setQuery(query.text()).setFilters(filters(query));
    Plain.set(query.limit(), input::setMaxResults);
    Plain.set(query.contextTokens(), tokens -> input.setIncludeContext(true).setContextTokens(tokens));
    if (query.kind() != null && !query.kind().equals("facts")) { // which are searched best without naming them
      input.setSearchType(SearchScope.valueOf("SEARCH_SCOPE_" + query.kind().toUpperCase(Locale.ROOT)));
    }
    return calls.one(RetrievalServiceGrpc.getSearchGraphMethod(), input, Found::of);
  }

  private static SearchFilters filters(Query query) {
    var made =
        SearchFilters.newBuilder().addAllRelationNames(query.relations()).addAllEntityTypes(query.types());
    Plain.set(query.asOf(), time -> made.setValidAsOf(Plain.stamp(time)));
    Plain.set(query.knownAsOf(), time -> made.setKnownAsOf(Plain.stamp(time)));
    return made.build();
  }

  /**
   * Tells what is known that bears on a query.
   *
   * @param query what is asked
   * @return a text to put before a language model
   */
  public CompletableFuture<String> context(Query query) {
    Query sized = query.contextTokens() == null ? query.contextTokens(2_000) : query;
    return Calls.then(search(sized), found -> found.context() == null ? "" : found.context());
  }

  /**
   * Answers a question in words, from the memory alone.
   *
   * @param question the question; how much and what kind is not looked at
   * @param onPiece gets the answer as it is written
   * @return the answer
   */
  public CompletableFuture<Answer> ask(Query question, Consumer<String> onPiece) {
    var input = AskInput.newBuilder().addGroupIds(id).setQuestion(question.text()).setFilters(filters(question));
    AtomicReference<AskResult> result = new AtomicReference<>(AskResult.getDefaultInstance());
    var call = Call.of(RetrievalServiceGrpc.getAskMethod(), input, ANSWERED, Attempts.TRIES);
    Consumer<AskResponse> take =
        told -> {
          if (told.getOutput().hasPiece()) {
            onPiece.accept(told.getOutput().getPiece());
          } else {
            result.set(told.getOutput().getResult());
          }
        };
    return Calls.then(calls.each(call, take, true), done -> Answer.of(result.get()));
  }

  /**
   * Tells what a fact replaced and what replaced it.
   *
   * @param fact its uuid
   * @return the facts, in the order they were written
   */
  public CompletableFuture<List<Fact>> history(String fact) {
    var input = GetFactHistoryInput.newBuilder().setUuid(fact).setGroupId(id);
    return calls.one(
        RetrievalServiceGrpc.getGetFactHistoryMethod(),
        input,
        (GetFactHistoryOutput found) -> Plain.list(found.getFactsList(), Fact::of));
  }

  /**
   * Tells what is known of a thing.
   *
   * @param uuid its uuid
   * @param ended whether facts that ended are wanted too
   * @return the entity
   */
  public CompletableFuture<KnownEntity> entity(String uuid, boolean ended) {
    var input = GetEntityNodeInput.newBuilder().setUuid(uuid).setGroupId(id);
    Plain.set(ended ? true : null, input::setIncludeExpired);
    return calls.one(RetrievalServiceGrpc.getGetEntityNodeMethod(), input, KnownEntity::of);
  }

  /**
   * Deletes a text for good.
   *
   * @param uuid its uuid
   * @return done
   */
  public CompletableFuture<Void> forgetEpisode(String uuid) {
    var input = DeleteEpisodeInput.newBuilder().setUuid(uuid).setGroupId(id).setCascade(true);
    return calls.one(AdminServiceGrpc.getDeleteEpisodeMethod(), input, any -> null);
  }

  /**
   * Deletes a document for good.
   *
   * @param document its id
   * @return done
   */
  public CompletableFuture<Void> forgetDocument(String document) {
    var input = DeleteDocumentInput.newBuilder().setDocumentId(document).setGroupId(id);
    return calls.one(AdminServiceGrpc.getDeleteDocumentMethod(), input, any -> null);
  }

  /**
   * Deletes a fact for good.
   *
   * @param uuid its uuid
   * @return done
   */
  public CompletableFuture<Void> forgetFact(String uuid) {
    var input = DeleteEntityEdgeInput.newBuilder().setUuid(uuid).setGroupId(id);
    return calls.one(AdminServiceGrpc.getDeleteEntityEdgeMethod(), input, any -> null);
  }

  /**
   * Deletes the whole group for good.
   *
   * @return done
   */
  public CompletableFuture<Void> forgetEverything() {
    var input = DeleteGroupInput.newBuilder().setGroupId(id);
    return calls.one(AdminServiceGrpc.getDeleteGroupMethod(), input, any -> null);
  }

  /**
   * Adds a document, or a new text of one.
   *
   * @param document the document; a file is read at once
   * @return what became of it
   * @throws UncheckedIOException if the file cannot be read
   */
  public CompletableFuture<AddedDocument> addDocument(NewDocument document) {
    return Uploading.send(calls, id, document, now());
  }

  /**
   * Looks at a document.
   *
   * @param document its id
   * @return the document and how far it is
   */
  public CompletableFuture<Document> document(String document) { return Calls.then(looked(document), Document::of); }

  private CompletableFuture<kgsvc.v1.Document> looked(String document) {
    var input = GetDocumentInput.newBuilder().setGroupId(id).setDocumentId(document);
    return calls.one(RetrievalServiceGrpc.getGetDocumentMethod(), input, GetDocumentOutput::getDocument);
  }

  /**
   * Waits until all of a document is read, or as much as can be, and what only former texts said is withdrawn.
   *
   * @param document its id
   * @param within for how long
   * @return the document
   */
  public CompletableFuture<Document> awaitDocument(String document, Duration within) {
    return settled(document, within, calls.ambience.nanoTime().getAsLong() + within.toNanos());
  }

  private CompletableFuture<Document> settled(String document, Duration within, long untilNs) {
    return Calls.next(
        looked(document),
        raw -> {
          Document found = Document.of(raw);
          if (found.state().equals("failed") || found.state().equals("processed") && raw.getSettled()) {
            return CompletableFuture.completedFuture(found);
          }
          if (calls.ambience.nanoTime().getAsLong() > untilNs) {
            String message = document + " is not read after " + within + "; the service works on";
            return CompletableFuture.failedFuture(Failure.of("DEADLINE_EXCEEDED", message, ""));
          }
          return Calls.next(calls.paused(LOOK_NS), any -> settled(document, within, untilNs));
        });
  }

  /** {@return the documents of the group, by id} */
  public Listing<Document> documents() {
    var input = ListDocumentsInput.newBuilder().setGroupId(id);
    return new Listing<>(calls, RetrievalServiceGrpc.getListDocumentsMethod(), input, "documents", Document::of);
  }

  /**
   * Lists what was added, in order.
   *
   * @param states accepted, parked, ...: those in one of them; none: all
   * @return the items
   */
  public Listing<Item> items(String... states) {
    List<ItemState> wanted =
        Stream.of(states).map(state -> ItemState.valueOf("ITEM_STATE_" + state.toUpperCase(Locale.ROOT))).toList();
    var input = ListItemsInput.newBuilder().setGroupId(id).addAllStates(wanted);
    Function<ListedItem, Item> view = Item::of;
    return new Listing<>(calls, IngestionServiceGrpc.getListItemsMethod(), input, "items", view);
  }

  /**
   * Lists the latest texts, the oldest of them first.
   *
   * @param last how many
   * @param pageSize how many are fetched at once
   * @return the texts
   */
  public Listing<Episode> episodes(int last, int pageSize) {
    var input = GetEpisodesInput.newBuilder().setGroupId(id).setLastN(last).setPageSize(pageSize);
    return new Listing<>(calls, RetrievalServiceGrpc.getGetEpisodesMethod(), input, "episodes", Episode::of);
  }

  /**
   * Sends any number of items, reading them in a thread of its own.
   *
   * @param items as {@link Group#stream} takes them
   * @param time that of the first that tells none; null: now
   * @return what became of them
   */
  public CompletableFuture<Report> stream(Stream<?> items, Instant time) {
    Sending sending = new Sending(calls, id);
    CompletableFuture<Report> report =
        CompletableFuture.supplyAsync(
            () -> sending.run(items.iterator(), new Converter(time == null ? now() : time)), Sending::inThread);
    report.whenComplete((done, failure) -> sending.stop());
    return report;
  }

  /**
   * Gives what is in the group, and then every change of it, to a function, which is called again only when it is done.
   *
   * @param cursor as {@link Group#follow} takes it
   * @param take what to do with it
   * @return ends only by cancelling it, or when the service refuses it or is away for ten minutes
   */
  public CompletableFuture<Void> follow(String cursor, Consumer<Changes> take) {
    return new Watching(calls, id, cursor, take).begun();
  }
}
