package io.github.kgsvc.client;

import java.time.Instant;

/**
 * A text as it was added.
 *
 * @param uuid its id
 * @param name its name; null: none
 * @param body the text
 * @param kind text, json, message or document
 * @param referenceTime when what it says was the case
 * @param createdAt when it was added
 * @param sourceDescription where it is from; null: not told
 * @param sourceUrl where it may be read; null: not told
 */
public record Episode(
    String uuid, String name, String body, @From("source") String kind, Instant referenceTime, Instant createdAt,
    String sourceDescription, String sourceUrl) {}
