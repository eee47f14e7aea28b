package io.github.kgsvc.client;

import java.time.Duration;

/** When a call is tried again: after what may pass, for as long as it may take and not too often. */
final class Attempts {
  static final int TRIES = 5;
  static final int FOREVER = Integer.MAX_VALUE;
  static final Duration ALWAYS = Duration.ofDays(36_500);
  private static final double FIRST_PAUSE_NS = 0.1e9;
  private static final double LONGEST_PAUSE_NS = 5e9;

  private final Ambience ambience;
  private final long untilNs;
  private int tries;
  private int failed;

  Attempts(Ambience ambience, Duration within, int tries) {
    this.ambience = ambience;
    this.untilNs = ambience.nanoTime().getAsLong() + within.toNanos();
    this.tries = tries;
  }

  /** Until the deadline; below 0 when that has passed. */
  long leftNs() { return untilNs - ambience.nanoTime().getAsLong(); }

  /** Something came of it: pauses begin anew. */
  void progressed() { failed = 0; }

  /** Nothing is tried again from now on. */
  void last() { tries = 1; }

  /** How long to wait before the next attempt. Throws the error when there is none. */
  long pauseNs(KgsvcException error) {
    failed = Math.min(failed + 1, FOREVER - 1);
    double pause = Math.min(FIRST_PAUSE_NS * Math.pow(2, Math.min(failed - 1, 16)), LONGEST_PAUSE_NS);
    pause *= 0.5 + ambience.chance().getAsDouble() / 2;
    if (error.retryDelay() != null) { pause += error.retryDelay().toNanos(); }
    if (!error.retryable() || failed >= tries || pause >= leftNs()) {
      throw error;
    }
    return (long) pause;
  }
}
