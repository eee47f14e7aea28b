package io.github.kgsvc.client;

import java.util.List;

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
    List<Fact> facts, List<Entity> entities, List<Episode> episodes, List<Chunk> chunks, String context) {
  static Found of(kgsvc.v1.SearchGraphOutput raw) {
    return new Found(
        Plain.list(raw.getFactsList(), hit -> Fact.of(hit.getFact())),
        Plain.list(raw.getNodesList(), hit -> Entity.of(hit.getNode())),
        Plain.list(raw.getEpisodesList(), hit -> Episode.of(hit.getEpisode())),
        Plain.list(raw.getChunksList(), hit -> Chunk.of(hit.getChunk())),
        Plain.maybe(raw.hasContext(), raw.getContext()));
  }
}
