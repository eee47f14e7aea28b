package io.github.kgsvc.client;

import java.util.List;

/**
 * What became of a document that was sent.
 *
 * @param id its id
 * @param arrival new, revised, unchanged or outdated
 * @param revision how many texts of it there were
 * @param newChunks how many parts are to be read
 * @param receipts the ids of their receipts
 */
public record AddedDocument(
    String id, String arrival, int revision, int newChunks, List<String> receipts) implements Waitable {
  static AddedDocument of(kgsvc.v1.AddedDocument raw) {
    return new AddedDocument(
        raw.getDocumentId(), Plain.word(raw.getArrival()), raw.getRevision(), raw.getNewChunks(),
        List.copyOf(raw.getReceiptIdsList()));
  }
}
