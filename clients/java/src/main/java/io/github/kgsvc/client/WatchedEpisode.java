package io.github.kgsvc.client;

import java.util.List;

/**
 * An episode with the entities that it names.
 *
 * @param uuid its id
 * @param episode the text
 * @param entities the ids of the entities
 */
public record WatchedEpisode(String uuid, Episode episode, List<String> entities) {
  static WatchedEpisode of(kgsvc.v1.WatchedEpisode raw) {
    return new WatchedEpisode(
        raw.getEpisode().getUuid(), Episode.of(raw.getEpisode()), List.copyOf(raw.getEntityUuidsList()));
  }
}
