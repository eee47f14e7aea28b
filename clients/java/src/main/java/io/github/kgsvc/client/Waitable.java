package io.github.kgsvc.client;

import java.util.List;

/** What can be waited for: a receipt, a document that was added, a report of a stream. */
public interface Waitable {
  /** {@return the ids of its receipts} */
  List<String> receipts();
}
