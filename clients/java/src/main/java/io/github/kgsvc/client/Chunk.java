package io.github.kgsvc.client;

import java.util.List;

/**
 * A part of a document.
 *
 * @param uuid its id
 * @param documentId the document
 * @param title that of the document; null: none
 * @param text the text
 * @param headings the headings above it
 * @param page the page it begins on; null: there are none
 */
public record Chunk(String uuid, String documentId, String title, String text, List<String> headings, Integer page) {
  static Chunk of(kgsvc.v1.ProvenanceChunk raw) {
    return new Chunk(
        raw.getChunkId(), raw.getFullDocId(), Plain.maybe(raw.hasTitle(), raw.getTitle()), raw.getContent(),
        List.copyOf(raw.getHeadingsList()), Plain.maybe(raw.hasPage(), raw.getPage()));
  }
}
