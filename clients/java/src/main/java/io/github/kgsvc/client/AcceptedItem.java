package io.github.kgsvc.client;

/**
 * One of the items that were added.
 *
 * @param uuid its id
 * @param duplicate it was there before
 * @param state how far it is
 */
public record AcceptedItem(String uuid, boolean duplicate, String state) {
  static AcceptedItem of(kgsvc.v1.AcceptedItem raw) {
    return new AcceptedItem(
        raw.getUuid(), raw.getDuplicate(), Plain.word(raw.getState()));
  }
}
