package io.github.kgsvc.client;

import java.time.Clock;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.DoubleSupplier;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/** Time and chance; tests give their own. */
record Ambience(LongSupplier nanoTime, Clock clock, DoubleSupplier chance, Supplier<String> newId) {
  static final Ambience USUAL =
      new Ambience(
          System::nanoTime,
          Clock.systemUTC(),
          () -> ThreadLocalRandom.current().nextDouble(),
          () -> UUID.randomUUID().toString());
}
