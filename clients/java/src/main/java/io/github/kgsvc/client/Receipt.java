package io.github.kgsvc.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * What a call added, to be waited for. Without items: there was nothing to send.
 *
 * @param id its id; empty if there was nothing
 * @param items what was added
 */
public record Receipt(@From("receipt_id") String id, List<Accepted> items) implements Waitable {
  /**
   * A receipt of which the id was kept.
   *
   * @param id the id
   * @return the receipt, without items
   */
  public static Receipt of(String id) { return new Receipt(id, List.of()); }

  @Override
  public List<String> receipts() { return id.isEmpty() ? List.of() : List.of(id); }

  /**
   * One of the items that were added.
   *
   * @param uuid its id
   * @param duplicate it was there before
   * @param state how far it is
   */
  public record Accepted(String uuid, boolean duplicate, String state) {}

  /**
   * What became of items that were waited for.
   *
   * @param items the items by uuid
   */
  public record Outcome(Map<String, Item> items) {
    /** {@return those that could not be read; each says why} */
    public List<Item> parked() {
      return items.values().stream().filter(item -> item.state().equals("parked")).toList();
    }
  }

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
  public record Item(String uuid, String name, String state, int attempts, String reason, Instant updatedAt) {}

  /**
   * What became of the items of a stream.
   *
   * @param stored those that are new
   * @param duplicates those that were there before
   * @param refused those that the service does not take
   * @param receipts the ids of receipts, one for each batch that the service stored
   */
  public record Report(long stored, long duplicates, List<Refusal> refused, List<String> receipts)
      implements Waitable {}

  /**
   * An item of a stream that the service does not take.
   *
   * @param index the number it had, from 0
   * @param code why, as a code
   * @param message why, as a sentence
   */
  public record Refusal(long index, String code, String message) {}
}
