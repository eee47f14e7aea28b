package io.github.kgsvc.client;

import java.util.List;

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
  static Changes of(kgsvc.v1.WatchGroupOutput raw) {
    return new Changes(
        raw.getRev(), raw.getCursor(), raw.getReset(), raw.getCurrent(),
        Plain.list(raw.getEntitiesList(), Entity::of), Plain.list(raw.getFactsList(), Fact::of),
        Plain.list(raw.getEpisodesList(), WatchedEpisode::of), List.copyOf(raw.getRemovedEntitiesList()),
        List.copyOf(raw.getRemovedFactsList()), List.copyOf(raw.getRemovedEpisodesList()));
  }
}
