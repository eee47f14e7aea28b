package io.github.kgsvc.client;

import java.util.List;

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
public record KnownEntity(
    String uuid, String name, String type, String summary, List<Fact> facts, List<Episode> episodes) {
  static KnownEntity of(kgsvc.v1.GetEntityNodeOutput raw) {
    return new KnownEntity(
        raw.getNode().getUuid(), raw.getNode().getName(), raw.getType(),
        Plain.maybe(raw.getNode().hasSummary(), raw.getNode().getSummary()),
        Plain.list(raw.getFactsList(), Fact::of), Plain.list(raw.getEpisodesList(), Episode::of));
  }
}
