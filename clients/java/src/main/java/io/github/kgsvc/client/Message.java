package io.github.kgsvc.client;

import java.time.Instant;

/**
 * What somebody said.
 *
 * @param content the text
 * @param role user, assistant or system
 * @param name who it was; null: not told
 * @param time when it was said; null: about now
 * @param uuid its id; null: the service makes one
 * @param sourceDescription where it is from; null: not told
 * @param sourceUrl where it may be read; null: not told
 */
public record Message(
    String content, @From("role_type") String role, @From("role") String name, @From("timestamp") Instant time,
    String uuid, String sourceDescription, String sourceUrl) {
  /**
   * What somebody said, no more being told.
   *
   * @param role user, assistant or system
   * @param name who it was; null: not told
   * @param content the text
   */
  public Message(String role, String name, String content) { this(content, role, name, null, null, null, null); }

  /**
   * The same, said at a time.
   *
   * @param time when
   * @return the message
   */
  public Message at(Instant time) { return Plain.with(this, "time", time); }
}
