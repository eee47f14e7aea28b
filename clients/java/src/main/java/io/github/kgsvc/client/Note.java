package io.github.kgsvc.client;

import java.time.Instant;

/**
 * A text, or JSON, and when what it says was the case.
 *
 * @param body the text
 * @param kind what it is: text or json
 * @param name its name; null: none
 * @param time when it was the case; null: about now
 * @param uuid its id; null: the service makes one
 * @param sourceDescription where it is from; null: not told
 * @param sourceUrl where it may be read; null: not told
 */
public record Note(
    String body, @From("source") String kind, String name, @From("reference_time") Instant time, String uuid,
    String sourceDescription, String sourceUrl) {
  /**
   * A text, no more being told.
   *
   * @param text the text
   * @return the note
   */
  public static Note text(String text) { return new Note(text, "text", null, null, null, null, null); }

  /**
   * A record, no more being told.
   *
   * @param json what it holds, as JSON
   * @return the note
   */
  public static Note json(String json) { return new Note(json, "json", null, null, null, null, null); }

  /**
   * The same, having been the case at a time.
   *
   * @param time when
   * @return the note
   */
  public Note at(Instant time) { return Plain.with(this, "time", time); }
}
