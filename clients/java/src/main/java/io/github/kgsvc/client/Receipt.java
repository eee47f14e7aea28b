package io.github.kgsvc.client;

import java.util.List;

/**
 * What a call added, to be waited for. Without items: there was nothing to send.
 *
 * @param id its id; empty if there was nothing
 * @param items what was added
 */
public record Receipt(String id, List<AcceptedItem> items) implements Waitable {
  /**
   * A receipt of which the id was kept.
   *
   * @param id the id
   * @return the receipt, without items
   */
  public static Receipt of(String id) { return new Receipt(id, List.of()); }

  static Receipt of(String id, List<kgsvc.v1.AcceptedItem> items) {
    return new Receipt(id, Plain.list(items, AcceptedItem::of));
  }

  @Override
  public List<String> receipts() { return id.isEmpty() ? List.of() : List.of(id); }
}
