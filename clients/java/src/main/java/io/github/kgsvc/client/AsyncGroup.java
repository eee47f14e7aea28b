package io.github.kgsvc.client;

import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.stream.Stream;

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
    Converter converter = new Converter(how.time());
    var sent = items.stream().map(converter::item).filter(item -> item != null).toList();
    long notes = sent.stream().filter(item -> item instanceof Note).count();
    if (sent.isEmpty()) {
      return CompletableFuture.completedFuture(Receipt.of(""));
    } else if (notes > 0 && notes < sent.size()) {
      throw new IllegalArgumentException("messages and notes go in calls of their own, or in stream()");
    }
    String key = how.key() == null ? UUID.randomUUID().toString() : how.key();
    var input = Map.of("group_id", id, notes > 0 ? "items" : "messages", sent);
    var request = Map.of("idempotency_key", key, "input", input);
    var receipt = calls.whole(notes > 0 ? "AddEpisodes" : "AddMessages", request, Plain.as(Receipt.class));
    return how.waits() ? Calls.next(receipt, added -> Calls.then(wait(added), outcome -> added)) : receipt;
  }

  /**
   * Waits until all items are in the graph, parked or deleted; for ten minutes.
   *
   * @param added a receipt, a document or a report
   * @return what became of the items
   */
  public CompletableFuture<Receipt.Outcome> wait(Waitable added) { return wait(added, Calls.WAIT); }

  /**
   * Waits until all items are in the graph, parked or deleted.
   *
   * @param added a receipt, a document or a report
   * @param within for how long
   * @return what became of the items
   */
  public CompletableFuture<Receipt.Outcome> wait(Waitable added, Duration within) {
    long untilNs = System.nanoTime() + within.toNanos();
    Map<String, Receipt.Item> items = new LinkedHashMap<>(); // answers come one after the other
    CompletableFuture<Void> done = CompletableFuture.completedFuture(null);
    for (String receipt : added.receipts()) {
      done = Calls.next(done, before -> watched(receipt, Duration.ofNanos(untilNs - System.nanoTime()), items));
    }
    return Calls.then(done, all -> new Receipt.Outcome(items));
  }

  private CompletableFuture<Void> watched(String receipt, Duration left, Map<String, Receipt.Item> items) {
    return calls.each(
        "WatchReceipt", Map.of("input", Map.of("receipt_id", receipt)), left, Calls.FOREVER, Calls.Kind.WHOLE,
        output -> {
          Plain.list(Receipt.Item.class, output, "items").forEach(item -> items.put(item.uuid(), item));
          return true;
        });
  }

  /**
   * Finds what bears on a query.
   *
   * @param query what is asked
   * @return what was found
   */
  public CompletableFuture<Query.Found> search(Query query) {
    Map<String, Object> input = Plain.fields(query);
    input.putAll(Map.of("group_ids", List.of(id), "include_context", query.contextTokens() != null));
    input.remove("search_type", "facts"); // which are searched best without naming them
    return calls.one("SearchGraph", input, Plain.as(Query.Found.class));
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
  public CompletableFuture<Query.Answer> ask(Query question, Consumer<String> onPiece) {
    Map<String, Object> input = Plain.fields(question);
    input.keySet().removeIf(field -> !field.startsWith("filters."));
    input.putAll(Map.of("group_ids", List.of(id), "question", question.text()));
    AtomicReference<Query.Answer> result = new AtomicReference<>();
    var asked = calls.each(
        "Ask", Map.of("input", input), ANSWERED, Calls.TRIES, Calls.Kind.ONCE,
        output -> {
          String piece = Plain.text(output, "piece");
          if (piece != null) {
            onPiece.accept(piece);
          } else {
            result.set(Plain.of(Query.Answer.class, Plain.part(output, "result")));
          }
          return true;
        });
    return Calls.then(asked, done -> result.get());
  }

  /**
   * Tells what a fact replaced and what replaced it.
   *
   * @param fact its uuid
   * @return the facts, in the order they were written
   */
  public CompletableFuture<List<Fact>> history(String fact) {
    var input = Map.of("uuid", fact, "group_id", id);
    return calls.one("GetFactHistory", input, found -> Plain.list(Fact.class, found, "facts"));
  }

  /**
   * Tells what is known of a thing.
   *
   * @param uuid its uuid
   * @param ended whether facts that ended are wanted too
   * @return the entity
   */
  public CompletableFuture<Entity.Known> entity(String uuid, boolean ended) {
    var input = Map.of("uuid", uuid, "group_id", id, "include_expired", ended);
    return calls.one("GetEntityNode", input, Plain.as(Entity.Known.class));
  }

  /**
   * Deletes a text for good.
   *
   * @param uuid its uuid
   * @return done
   */
  public CompletableFuture<Void> forgetEpisode(String uuid) {
    return calls.one("DeleteEpisode", Map.of("uuid", uuid, "group_id", id, "cascade", true), deleted -> null);
  }

  /**
   * Deletes a document for good.
   *
   * @param document its id
   * @return done
   */
  public CompletableFuture<Void> forgetDocument(String document) {
    return forget("DeleteDocument", "document_id", document);
  }

  /**
   * Deletes a fact for good.
   *
   * @param uuid its uuid
   * @return done
   */
  public CompletableFuture<Void> forgetFact(String uuid) { return forget("DeleteEntityEdge", "uuid", uuid); }

  private CompletableFuture<Void> forget(String method, String field, String what) {
    return calls.one(method, Map.of(field, what, "group_id", id), deleted -> null);
  }

  /**
   * Deletes the whole group for good.
   *
   * @return done
   */
  public CompletableFuture<Void> forgetEverything() {
    return calls.one("DeleteGroup", Map.of("group_id", id), deleted -> null);
  }

  /**
   * Adds a document, or a new text of one.
   *
   * @param document the document; a file is read at once
   * @return what became of it
   * @throws java.io.UncheckedIOException if the file cannot be read
   */
  public CompletableFuture<Document.Added> addDocument(NewDocument document) { return document.send(calls, id); }

  /**
   * Looks at a document.
   *
   * @param document its id
   * @return the document and how far it is
   */
  public CompletableFuture<Document> document(String document) {
    var input = Map.of("group_id", id, "document_id", document);
    return calls.one("GetDocument", input, found -> Plain.of(Document.class, Plain.part(found, "document")));
  }

  /**
   * Waits until all of a document is read, or as much as can be, and what only former texts said is withdrawn.
   *
   * @param document its id
   * @param within for how long
   * @return the document
   */
  public CompletableFuture<Document> awaitDocument(String document, Duration within) {
    return settled(document, within, System.nanoTime() + within.toNanos());
  }

  private CompletableFuture<Document> settled(String document, Duration within, long untilNs) {
    return Calls.next(
        document(document),
        found -> {
          if (found.state().equals("failed") || found.state().equals("processed") && found.settled()) {
            return CompletableFuture.completedFuture(found);
          }
          if (System.nanoTime() > untilNs) {
            String message = document + " is not read after " + within + "; the service works on";
            throw new KgsvcException("DEADLINE_EXCEEDED", message, "");
          }
          return Calls.next(calls.later(LOOK_NS, () -> {}), any -> settled(document, within, untilNs));
        });
  }

  /** {@return the documents of the group, by id} */
  public Listing<Document> documents() {
    return new Listing<>(calls, "ListDocuments", Map.of("group_id", id), "documents", Document.class);
  }

  /**
   * Lists what was added, in order.
   *
   * @param states accepted, parked, ...: those in one of them; none: all
   * @return the items
   */
  public Listing<Receipt.Item> items(String... states) {
    var input = Map.of("group_id", id, "states", List.of(states));
    return new Listing<>(calls, "ListItems", input, "items", Receipt.Item.class);
  }

  /**
   * Lists the latest texts, the oldest of them first.
   *
   * @param last how many
   * @param pageSize how many are fetched at once
   * @return the texts
   */
  public Listing<Episode> episodes(int last, int pageSize) {
    var input = Map.of("group_id", id, "last_n", last, "page_size", pageSize);
    return new Listing<>(calls, "GetEpisodes", input, "episodes", Episode.class);
  }

  /**
   * Sends any number of items, reading them in a thread of its own.
   *
   * @param items as {@link Group#stream} takes them
   * @param time that of the first that tells none; null: now
   * @return what became of them
   */
  public CompletableFuture<Receipt.Report> stream(Stream<?> items, Instant time) {
    Sending sending = new Sending(calls);
    Converter converter = new Converter(time);
    var sent = CompletableFuture.supplyAsync(() -> sending.run(id, items.iterator(), converter), AsyncGroup::inThread);
    sent.whenComplete((done, failure) -> sending.stop());
    return sent;
  }

  private static void inThread(Runnable reading) {
    Thread thread = new Thread(reading, "kgsvc-stream");
    thread.setDaemon(true);
    thread.start();
  }

  /**
   * Gives what is in the group, and then every change of it, to a function, which is called again only when it is done.
   *
   * @param cursor as {@link Group#follow} takes it
   * @param take what to do with it; it returns whether it wants more
   * @return done when it wants no more; fails when the service refuses it or is away for ten minutes
   */
  public CompletableFuture<Void> follow(String cursor, Predicate<Group.Changes> take) {
    Map<String, Object> input = new LinkedHashMap<>(Map.of("group_id", id));
    input.computeIfAbsent("cursor", from -> cursor); // nothing where it is null
    return calls.each(
        "WatchGroup", Map.of("input", input), Calls.WAIT, Calls.FOREVER, Calls.Kind.ENDLESS,
        output -> {
          var changes = Plain.of(Group.Changes.class, output);
          boolean more = take.test(changes);
          input.put("cursor", changes.cursor()); // where the next stream begins
          return more;
        });
  }
}
