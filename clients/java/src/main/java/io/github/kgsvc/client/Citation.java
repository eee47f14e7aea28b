package io.github.kgsvc.client;

/**
 * What a claim of an answer rests on.
 *
 * @param number its number in the answer
 * @param kind fact, episode, chunk, entity or community
 * @param uuid the id of the thing
 * @param text what it says
 */
public record Citation(int number, String kind, String uuid, String text) {
  static Citation of(kgsvc.v1.Citation raw) {
    return new Citation(
        raw.getNumber(), Plain.word(raw.getKind()), raw.getUuid(), raw.getText());
  }
}
