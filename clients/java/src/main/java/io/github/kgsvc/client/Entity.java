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
  static Entity of(kgsvc.v1.EntityNode raw) {
    return new Entity(
        raw.getUuid(), raw.getName(), Plain.maybe(raw.hasSummary(), raw.getSummary()),
        List.copyOf(raw.getLabelsList()), List.copyOf(raw.getAliasesList()),
        raw.hasAttributes() ? Plain.map(raw.getAttributes()) : null, Plain.time(raw.getCreatedAt()));
  }
}
