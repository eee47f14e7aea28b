package io.github.kgsvc.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Something that is, or was, true of two things.
 *
 * @param uuid its id
 * @param text the fact as a sentence
 * @param relation its kind, such as WORKS_AT
 * @param source the name of what it is about
 * @param target the name of the other thing
 * @param sourceUuid the id of what it is about
 * @param targetUuid the id of the other thing
 * @param validAt since when it is true; null: not known
 * @param invalidAt since when no longer; null: still true as far as known
 * @param createdAt since when the service believes it
 * @param expiredAt since when no longer; null: it does
 * @param expiredReason why no longer; null: it does
 * @param episodes the episodes that state it
 * @param attributes what else is known of it; null: nothing
 */
public record Fact(
    String uuid, @From("fact") String text, @From("name") String relation, @From("source_name") String source,
    @From("target_name") String target, @From("source_node_uuid") String sourceUuid,
    @From("target_node_uuid") String targetUuid, Instant validAt, Instant invalidAt, Instant createdAt,
    Instant expiredAt, String expiredReason, List<String> episodes, Map<String, Object> attributes) {}
