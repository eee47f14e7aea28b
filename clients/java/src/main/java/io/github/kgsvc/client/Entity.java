package io.github.kgsvc.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * A thing that facts are about.
 *
 * @param uuid its id
 * @param name its name
 * @param summary what is known of it in short; null: not written yet
 * @param labels its types
 * @param aliases its other names
 * @param attributes its properties; null: none
 * @param createdAt since when it is in the graph
 */
public record Entity(
    String uuid, String name, String summary, List<String> labels, List<String> aliases,
    Map<String, Object> attributes, Instant createdAt) {
  /**
   * An entity with what is known about it.
   *
   * @param uuid its id
   * @param name its name
   * @param type its type, such as Person
   * @param summary what is known of it in short; null: not written yet
   * @param facts its facts
   * @param episodes the latest that name it
   */
  public record Known(
      @From("node.uuid") String uuid, @From("node.name") String name, String type,
      @From("node.summary") String summary, List<Fact> facts, List<Episode> episodes) {}
}
