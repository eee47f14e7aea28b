package io.github.kgsvc.client;

import java.util.List;
import java.util.Map;

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
