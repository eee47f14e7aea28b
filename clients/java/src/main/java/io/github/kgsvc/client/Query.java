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
    String text, Instant asOf, Instant knownAsOf, Integer limit, String kind, List<String> relations,
    List<String> types, Integer contextTokens) {
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
  public Query asOf(Instant asOf) {
    return new Query(text, asOf, knownAsOf, limit, kind, relations, types, contextTokens);
  }

  /**
   * The same with knownAsOf.
   *
   * @param knownAsOf asks what was known then; null: now
   * @return the same with it
   */
  public Query knownAsOf(Instant knownAsOf) {
    return new Query(text, asOf, knownAsOf, limit, kind, relations, types, contextTokens);
  }

  /**
   * The same with limit.
   *
   * @param limit how many results at most; null: as the service has it
   * @return the same with it
   */
  public Query limit(Integer limit) {
    return new Query(text, asOf, knownAsOf, limit, kind, relations, types, contextTokens);
  }

  /**
   * The same with kind.
   *
   * @param kind facts, nodes, episodes, communities or chunks; null: facts
   * @return the same with it
   */
  public Query kind(String kind) {
    return new Query(text, asOf, knownAsOf, limit, kind, relations, types, contextTokens);
  }

  /**
   * The same with relations.
   *
   * @param relations the kinds of facts wanted, such as WORKS_AT; empty: all
   * @return the same with it
   */
  public Query relations(String... relations) {
    return new Query(text, asOf, knownAsOf, limit, kind, List.of(relations), types, contextTokens);
  }

  /**
   * The same with types.
   *
   * @param types the types of entities wanted, such as Person; empty: all
   * @return the same with it
   */
  public Query types(String... types) {
    return new Query(text, asOf, knownAsOf, limit, kind, relations, List.of(types), contextTokens);
  }

  /**
   * The same with contextTokens.
   *
   * @param contextTokens how long the text for a language model may be; null: none is wanted
   * @return the same with it
   */
  public Query contextTokens(Integer contextTokens) {
    return new Query(text, asOf, knownAsOf, limit, kind, relations, types, contextTokens);
  }
}
