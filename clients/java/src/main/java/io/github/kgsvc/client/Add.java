package io.github.kgsvc.client;

import java.time.Instant;

/**
 * How to add items: {@code new Add().time(then).waiting()}.
 *
 * @param time that of the first item that tells none; null: now
 * @param key the same call with the same key within a day changes nothing; null: the client makes one
 * @param waits whether to return only once everything is in the graph or parked
 */
public record Add(Instant time, String key, boolean waits) {
  /** The usual way. */
  public Add() { this(null, null, false); }

  /**
   * The same with a time.
   *
   * @param time that of the first item that tells none
   * @return the same with it
   */
  public Add time(Instant time) { return new Add(time, key, waits); }

  /**
   * The same with a key.
   *
   * @param key the same call with the same key within a day changes nothing
   * @return the same with it
   */
  public Add key(String key) { return new Add(time, key, waits); }

  /** {@return the same, waiting until everything is in the graph or parked} */
  public Add waiting() { return new Add(time, key, true); }
}
