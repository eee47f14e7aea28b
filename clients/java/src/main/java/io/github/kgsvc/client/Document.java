package io.github.kgsvc.client;

import java.time.Instant;
import java.util.List;

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
 * @param settled whether what only former texts said is withdrawn
 */
public record Document(
    @From("document_id") String id, String title, String state, String reason, int revision, Instant referenceTime,
    int chunks, int chunksInGraph, boolean settled) {
  /**
   * What became of a document that was sent.
   *
   * @param id its id
   * @param arrival new, revised, unchanged or outdated
   * @param revision how many texts of it there were
   * @param newChunks how many parts are to be read
   * @param receipts the ids of their receipts
   */
  public record Added(
      @From("document_id") String id, String arrival, int revision, int newChunks,
      @From("receipt_ids") List<String> receipts) implements Waitable {}

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
  public record Chunk(
      @From("chunk_id") String uuid, @From("full_doc_id") String documentId, String title,
      @From("content") String text, List<String> headings, Integer page) {}
}
