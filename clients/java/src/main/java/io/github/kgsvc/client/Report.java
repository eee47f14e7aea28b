package io.github.kgsvc.client;

import java.util.List;

/**
 * What became of the items of a stream.
 *
 * @param stored those that are new
 * @param duplicates those that were there before
 * @param refused those that the service does not take
 * @param receipts the ids of receipts, one for each batch that the service stored
 */
public record Report(
    long stored, long duplicates, List<Refusal> refused, List<String> receipts) implements Waitable {
}
