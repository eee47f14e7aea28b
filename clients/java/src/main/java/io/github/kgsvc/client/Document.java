package io.github.kgsvc.client;

import java.time.Instant;

/**
 * A document and how far it is.
 *
 * @param id its id
 * @param title its title; null: none
 * @param state pending, processing, processed or failed
 * @param reason why it failed; null: it did not
 * @param revision how many texts of it there were
 * @param referenceTime when its text was true
 * @param chunks its parts
 * @param chunksInGraph how many of them are read
 */
public record Document(
    String id, String title, String state, String reason, int revision, Instant referenceTime, int chunks,
    int chunksInGraph) {
  static Document of(kgsvc.v1.Document raw) {
    return new Document(
        raw.getDocumentId(), Plain.maybe(raw.hasTitle(), raw.getTitle()), Plain.word(raw.getState()),
        Plain.maybe(raw.hasReason(), raw.getReason()), raw.getRevision(), Plain.time(raw.getReferenceTime()),
        raw.getChunks(), raw.getChunksInGraph());
  }
}
