package io.github.kgsvc.client;

import java.time.Instant;
import java.util.List;

/**
 * What is asked: {@code Query.of("Where does Alice work?").asOf(march)}.
 *
 * @param text the question, or words
 * @param asOf asks what was true then; null: now
 * @param knownAsOf asks what was known then; null: now
 * @param limit how many results at most; null: as the service has it
 * @param kind facts, nodes, episodes, communities or chunks; null: facts
 * @param relations the kinds of facts wanted, such as WORKS_AT; empty: all
 * @param types the types of entities wanted, such as Person; empty: all
 * @param contextTokens how long the text for a language model may be; null: none is wanted
 */
public record Query(
    @From("query") String text, @From("filters.valid_as_of") Instant asOf,
    @From("filters.known_as_of") Instant knownAsOf, @From("max_results") Integer limit,
    @From("search_type") String kind, @From("filters.relation_names") List<String> relations,
    @From("filters.entity_types") List<String> types, Integer contextTokens) {
  /**
   * A question with nothing else.
   *
   * @param text the question, or words
   * @return the query
   */
  public static Query of(String text) { return new Query(text, null, null, null, null, List.of(), List.of(), null); }

  /**
   * The same with asOf.
   *
   * @param asOf asks what was true then; null: now
   * @return the same with it
   */
  public Query asOf(Instant asOf) { return Plain.with(this, "asOf", asOf); }

  /**
   * The same with knownAsOf.
   *
   * @param knownAsOf asks what was known then; null: now
   * @return the same with it
   */
  public Query knownAsOf(Instant knownAsOf) { return Plain.with(this, "knownAsOf", knownAsOf); }

  /**
   * The same with limit.
   *
   * @param limit how many results at most; null: as the service has it
   * @return the same with it
   */
  public Query limit(Integer limit) { return Plain.with(this, "limit", limit); }

  /**
   * The same with kind.
   *
   * @param kind facts, nodes, episodes, communities or chunks; null: facts
   * @return the same with it
   */
  public Query kind(String kind) { return Plain.with(this, "kind", kind); }

  /**
   * The same with relations.
   *
   * @param relations the kinds of facts wanted, such as WORKS_AT; empty: all
   * @return the same with it
   */
  public Query relations(String... relations) { return Plain.with(this, "relations", List.of(relations)); }

  /**
   * The same with types.
   *
   * @param types the types of entities wanted, such as Person; empty: all
   * @return the same with it
   */
  public Query types(String... types) { return Plain.with(this, "types", List.of(types)); }

  /**
   * The same with contextTokens.
   *
   * @param contextTokens how long the text for a language model may be; null: none is wanted
   * @return the same with it
   */
  public Query contextTokens(Integer contextTokens) { return Plain.with(this, "contextTokens", contextTokens); }

  /**
   * What a search found, the best first.
   *
   * @param facts facts
   * @param entities entities
   * @param episodes texts
   * @param chunks parts of documents
   * @param context a text of it to put before a language model; null: not asked for
   */
  public record Found(
      @From("facts.fact") List<Fact> facts, @From("nodes.node") List<Entity> entities,
      @From("episodes.episode") List<Episode> episodes, @From("chunks.chunk") List<Document.Chunk> chunks,
      String context) {}

  /**
   * An answer in words.
   *
   * @param text the answer; null: there is none
   * @param known false: the memory does not hold the answer; null: not told
   * @param citations what its claims rest on
   * @param sources the texts of the sources
   */
  public record Answer(
      @From("answer") String text, Boolean known, List<Citation> citations,
      @From("source_texts") List<String> sources) {
    /**
     * What a claim of an answer rests on.
     *
     * @param number its number in the answer
     * @param kind fact, episode, chunk, entity or community
     * @param uuid the id of the thing
     * @param text what it says
     */
    public record Citation(int number, String kind, String uuid, String text) {}
  }
}
