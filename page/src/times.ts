// Times as people read them, and when a fact holds on both time axes. All in milliseconds, UTC.
import type { Fact } from "./graph";

const DAY_MS = 86_400_000;

/** Of a time in the contract; null where it is absent. */
export function at(text: string | undefined): number | null {
  return text === undefined ? null : Date.parse(text);
}

/** A day, or with a time where it is not midnight. */
export function shown(ms: number | null, otherwise = "unknown"): string {
  if (ms === null) return otherwise;
  const text = new Date(ms).toISOString();
  return text.endsWith("T00:00:00.000Z") ? text.slice(0, 10) : `${text.slice(0, 10)} ${text.slice(11, 16)}`;
}

/** A day alone. */
export function day(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** From when to when a fact is true. */
export function interval(fact: Fact): string {
  const end = fact.invalidAt === null ? "now" : shown(fact.invalidAt);
  return fact.validAt === null && fact.invalidAt === null ? "at an unknown time" : `${shown(fact.validAt, "…")} → ${end}`;
}

/** When a fact ends, by what was known at a time: of one that expired later, nobody knew the end. */
export function endKnown(fact: Fact, knownMs: number): number | null {
  return fact.expiredAt !== null && fact.expiredAt > knownMs && fact.reason === "superseded" ? null : fact.invalidAt;
}

/** Whether the service believed a fact at a time. */
export function believed(fact: Fact, knownMs: number): boolean {
  return fact.createdAt <= knownMs && (fact.expiredAt === null || fact.expiredAt > knownMs);
}

/** Whether a fact counts at a time of knowing: believed, or superseded, which leaves it true until its end. */
export function counts(fact: Fact, knownMs: number): boolean {
  return fact.createdAt <= knownMs && (believed(fact, knownMs) || fact.reason === "superseded");
}

/** How much of a fact is left at a time, from 1 (holds) to 0: within `fadeMs` behind its end it fades. */
export function strength(fact: Fact, trueMs: number, knownMs: number, fadeMs: number): number {
  if (!counts(fact, knownMs) || (fact.validAt ?? -Infinity) > trueMs) return 0;
  const end = endKnown(fact, knownMs);
  if (end === null || end > trueMs) return 1;
  return Math.max(0, 0.6 * (1 - (trueMs - end) / fadeMs));
}

/** The span that facts tell of, a little wider, up to now at least. */
export function span(facts: Iterable<Fact>, nowMs: number): [number, number] {
  let [from, to] = [nowMs - 30 * DAY_MS, nowMs];
  for (const fact of facts) {
    for (const ms of [fact.validAt, fact.invalidAt]) {
      if (ms !== null) [from, to] = [Math.min(from, ms), Math.max(to, ms)];
    }
  }
  const margin = (to - from) * 0.03;
  return [from - margin, to + margin];
}

/** Round times within a span, and how each is written. */
export function ticks([from, to]: [number, number], most: number): [number, string][] {
  const years = (to - from) / (365 * DAY_MS);
  const step = [1, 2, 5, 10, 20, 50, 100, 500].find((each) => years / each <= most) ?? 1_000;
  const found: [number, string][] = [];
  if (years >= most / 3) {
    const first = Math.ceil(new Date(from).getUTCFullYear() / step) * step;
    for (let year = first; Date.UTC(year, 0) <= to; year += step) found.push([Date.UTC(year, 0), String(year)]);
  } else {
    const months = [1, 2, 3, 6].find((each) => (years * 12) / each <= most) ?? 6;
    const start = new Date(from);
    for (let month = Math.ceil(start.getUTCMonth() / months) * months; ; month += months) {
      const ms = Date.UTC(start.getUTCFullYear(), month);
      if (ms > to) break;
      found.push([ms, day(ms).slice(0, 7)]);
    }
  }
  return found.filter(([ms]) => ms >= from);
}
