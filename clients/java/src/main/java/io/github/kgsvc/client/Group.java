package io.github.kgsvc.client;

import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Iterator;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.stream.Stream;

/** The memory of a tenant. Every method blocks; each throws {@link KgsvcException} when it fails. */
public final class Group {
  private final AsyncGroup async;

  Group(AsyncGroup async) { this.async = async; }

  /** {@return the same for programs that do not block} */
  public AsyncGroup async() { return async; }

  /** {@return the group} */
  public String id() { return async.id(); }

  /**
   * Adds a text.
   *
   * @param text the text
   * @return what was added
   */
  public Receipt add(String text) { return add(List.of(text)); }

  /**
   * Adds a text.
   *
   * @param text the text
   * @param how when it was the case, and whether to wait
   * @return what was added
   */
  public Receipt add(String text, Add how) { return add(List.of(text), how); }

  /**
   * Adds items in the usual way.
   *
   * @param items as {@link #add(List, Add)} takes them
   * @return what was added
   */
  public Receipt add(List<?> items) { return add(items, new Add()); }

  /**
   * Adds messages of a chat, or texts and notes: all or none, at most 256.
   *
   * @param items strings, {@link Note}s, {@link Message}s, or maps, which are messages as the OpenAI API takes them:
   *     {@code Map.of("role", "user", "content", "...")}. Instructions and output of tools are not sent
   * @param how when they were the case, and whether to wait
   * @return what was added
   */
  public Receipt add(List<?> items, Add how) { return Calls.join(async.add(items, how)); }

  /**
   * Sends any number of items, and returns when each is stored or refused. At most 1,024 items and 8 MiB are on their
   * way: {@code items} is read no faster. Where the connection breaks, what was not answered is sent again. When the
   * service refuses the stream or answers nothing for the client's timeout, it fails; then each item that was read
   * from {@code items} is stored or refused, but for at most the last 1,025, which may be stored, too.
   *
   * @param items as {@link #add(List, Add)} takes them
   * @param time that of the first that tells none; null: now
   * @return what became of them
   */
  public Receipt.Report stream(Iterator<?> items, Instant time) {
    return new Sending(async.calls).run(id(), items, new Converter(time));
  }

  /**
   * Sends any number of items.
   *
   * @param items as {@link #stream(Iterator, Instant)} takes them
   * @return what became of them
   */
  public Receipt.Report stream(Stream<?> items) { return stream(items.iterator(), null); }

  /**
   * Waits until all items are in the graph, parked or deleted; for ten minutes.
   *
   * @param added a receipt, a document or a report
   * @return what became of the items
   */
  public Receipt.Outcome wait(Waitable added) { return Calls.join(async.wait(added)); }

  /**
   * Waits until all items are in the graph, parked or deleted.
   *
   * @param added a receipt, a document or a report
   * @param within for how long
   * @return what became of the items
   */
  public Receipt.Outcome wait(Waitable added, Duration within) { return Calls.join(async.wait(added, within)); }

  /**
   * Finds facts that bear on a query.
   *
   * @param query the question, or words
   * @return what was found
   */
  public Query.Found search(String query) { return search(Query.of(query)); }

  /**
   * Finds what bears on a query.
   *
   * @param query what is asked
   * @return what was found
   */
  public Query.Found search(Query query) { return Calls.join(async.search(query)); }

  /**
   * Tells what is known that bears on a query.
   *
   * @param query the question, or words
   * @return a text to put before a language model
   */
  public String context(String query) { return context(Query.of(query)); }

  /**
   * Tells what is known that bears on a query.
   *
   * @param query what is asked
   * @return a text to put before a language model
   */
  public String context(Query query) { return Calls.join(async.context(query)); }

  /**
   * Answers a question in words, from the memory alone.
   *
   * @param question the question
   * @return the answer
   */
  public Query.Answer ask(String question) { return ask(Query.of(question), piece -> {}); }

  /**
   * Answers a question in words, from the memory alone.
   *
   * @param question the question
   * @param onPiece gets the answer as it is written
   * @return the answer
   */
  public Query.Answer ask(Query question, Consumer<String> onPiece) { return Calls.join(async.ask(question, onPiece)); }

  /**
   * Tells what a fact replaced and what replaced it.
   *
   * @param fact its uuid
   * @return the facts, in the order they were written
   */
  public List<Fact> history(String fact) { return Calls.join(async.history(fact)); }

  /**
   * Tells what is known of a thing.
   *
   * @param uuid its uuid
   * @return the entity with its facts and the latest episodes that name it
   */
  public Entity.Known entity(String uuid) { return entity(uuid, false); }

  /**
   * Tells what is known of a thing.
   *
   * @param uuid its uuid
   * @param ended whether facts that ended are wanted too
   * @return the entity with its facts and the latest episodes that name it
   */
  public Entity.Known entity(String uuid, boolean ended) { return Calls.join(async.entity(uuid, ended)); }

  /**
   * Deletes a text for good, with all that it alone supports. That it is not there is no error.
   *
   * @param uuid its uuid
   */
  public void forgetEpisode(String uuid) { Calls.join(async.forgetEpisode(uuid)); }

  /**
   * Deletes a document for good, with all that it alone supports. That it is not there is no error.
   *
   * @param id its id
   */
  public void forgetDocument(String id) { Calls.join(async.forgetDocument(id)); }

  /**
   * Deletes a fact for good. That it is not there is no error.
   *
   * @param uuid its uuid
   */
  public void forgetFact(String uuid) { Calls.join(async.forgetFact(uuid)); }

  /** Deletes the whole group for good. */
  public void forgetEverything() { Calls.join(async.forgetEverything()); }

  /**
   * Adds a file as a document.
   *
   * @param file where it is
   * @return what became of it
   * @throws java.io.UncheckedIOException if it cannot be read
   */
  public Document.Added addDocument(Path file) { return addDocument(NewDocument.of(file)); }

  /**
   * Adds a document, or a new text of one.
   *
   * @param document the document
   * @return what became of it
   * @throws java.io.UncheckedIOException if its file cannot be read
   */
  public Document.Added addDocument(NewDocument document) { return Calls.join(async.addDocument(document)); }

  /**
   * Looks at a document.
   *
   * @param id its id
   * @return the document and how far it is
   */
  public Document document(String id) { return Calls.join(async.document(id)); }

  /**
   * Waits until all of a document is read, or as much as can be; for ten minutes.
   *
   * @param id its id
   * @return the document
   */
  public Document awaitDocument(String id) { return Calls.join(async.awaitDocument(id, Calls.WAIT)); }

  /** {@return the documents of the group, by id} */
  public Listing<Document> documents() { return async.documents(); }

  /**
   * Lists what was added, in order.
   *
   * @param states accepted, parked, ...: those in one of them; none: all
   * @return the items
   */
  public Listing<Receipt.Item> items(String... states) { return async.items(states); }

  /** {@return the latest 1,000 texts, the oldest of them first} */
  public Listing<Episode> episodes() { return episodes(1_000, 100); }

  /**
   * Lists the latest texts, the oldest of them first.
   *
   * @param last how many
   * @param pageSize how many are fetched at once
   * @return the texts
   */
  public Listing<Episode> episodes(int last, int pageSize) { return async.episodes(last, pageSize); }

  /**
   * Follows the group: gives all that is in it, and then every change, over broken connections, to a function, which is
   * called again only when it is done.
   *
   * @param cursor that of the last changes that were dealt with; null: from the beginning
   * @param take what to do with it; it returns whether it wants more
   */
  public void follow(String cursor, Predicate<Changes> take) { Calls.join(async.follow(cursor, take)); }

  /**
   * What changed in a group, in one step: what is there now, and what is gone.
   *
   * @param rev the revision of the graph: everything up to it has been told
   * @param cursor where to go on, once this is dealt with
   * @param reset forget what was told before: all that there is follows
   * @param current there was nothing more when this was sent
   * @param entities entities, new or changed
   * @param facts facts, new or changed
   * @param episodes texts, new or changed
   * @param removedEntities the ids of entities that are gone
   * @param removedFacts the ids of facts that are gone
   * @param removedEpisodes the ids of texts that are gone
   */
  public record Changes(
      long rev, String cursor, boolean reset, boolean current, List<Entity> entities, List<Fact> facts,
      List<WatchedEpisode> episodes, List<String> removedEntities, List<String> removedFacts,
      List<String> removedEpisodes) {
    /**
     * An episode with the entities that it names.
     *
     * @param uuid its id
     * @param episode the text
     * @param entities the ids of the entities
     */
    public record WatchedEpisode(
        @From("episode.uuid") String uuid, Episode episode, @From("entity_uuids") List<String> entities) {}
  }
}
