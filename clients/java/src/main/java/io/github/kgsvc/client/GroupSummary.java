package io.github.kgsvc.client;

import java.time.Instant;

/**
 * How much a group holds.
 *
 * @param id the group
 * @param episodes its texts
 * @param entities its entities
 * @param facts its facts
 * @param changedAt when it changed last; null: never
 */
public record GroupSummary(String id, int episodes, int entities, int facts, Instant changedAt) {
  static GroupSummary of(kgsvc.v1.GroupSummary raw) {
    return new GroupSummary(
        raw.getGroupId(), raw.getEpisodes(), raw.getEntities(), raw.getFacts(),
        Plain.time(raw.hasChangedAt(), raw.getChangedAt()));
  }
}
