package io.github.kgsvc.client;

import java.time.Instant;

/**
 * Something on its way into the graph.
 *
 * @param uuid its id
 * @param name its name; null: none
 * @param state accepted, ..., completed, parked or deleted
 * @param attempts how often it was tried
 * @param reason why it is parked or tried again; null: it is not
 * @param updatedAt when it came into this state
 */
public record Item(String uuid, String name, String state, int attempts, String reason, Instant updatedAt) {
  static Item of(kgsvc.v1.ReceiptItem raw) {
    return new Item(
        raw.getUuid(), Plain.maybe(raw.hasName(), raw.getName()), Plain.word(raw.getState()), raw.getAttempts(),
        Plain.maybe(raw.hasReason(), raw.getReason()), Plain.time(raw.getUpdatedAt()));
  }

  static Item of(kgsvc.v1.ListedItem raw) {
    return new Item(
        raw.getUuid(), Plain.maybe(raw.hasName(), raw.getName()), Plain.word(raw.getState()), raw.getAttempts(),
        Plain.maybe(raw.hasReason(), raw.getReason()), Plain.time(raw.getUpdatedAt()));
  }
}
