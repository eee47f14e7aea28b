// The graph of a group as this page holds it: WatchGroup tells what there is and then what changes.
import { Refused, watched } from "./api";
import type { EntityNode, Episode, FactResult, WatchGroupOutput } from "./contract";
import { at } from "./times";

export interface Entity {
  uuid: string;
  name: string;
  summary: string;
  labels: string[];
  aliases: string[];
}

export interface Fact {
  uuid: string;
  relation: string;
  text: string;
  source: string;
  target: string;
  sourceName: string;
  targetName: string;
  validAt: number | null;
  invalidAt: number | null;
  createdAt: number;
  expiredAt: number | null;
  reason: string; // why it expired
  expiredBy: string; // the fact that superseded or replaced it
  expiredByEpisode: string;
  updateReason: string;
  retractReason: string; // of the caller who said that it was never true
  previous: string; // the fact that this one corrects
  episodes: string[];
}

export interface Told {
  uuid: string;
  name: string;
  body: string;
  source: string;
  description: string;
  referenceAt: number;
  createdAt: number;
  entities: string[];
}

/** Something that changed while the page looked. */
export interface Change {
  atMs: number;
  kind: "episode" | "fact" | "entity";
  uuid: string;
  text: string;
}

const CHANGES = 500;

export function entityOf(node: EntityNode): Entity {
  const labels = (node.labels ?? []).filter((label) => label !== "Entity");
  return { uuid: node.uuid!, name: node.name ?? "", summary: node.summary ?? "", labels, aliases: node.aliases ?? [] };
}

export function factOf(edge: FactResult): Fact {
  return {
    uuid: edge.uuid!,
    relation: edge.name ?? "",
    text: edge.fact ?? "",
    source: edge.sourceNodeUuid ?? "",
    target: edge.targetNodeUuid ?? "",
    sourceName: edge.sourceName ?? "",
    targetName: edge.targetName ?? "",
    validAt: at(edge.validAt),
    invalidAt: at(edge.invalidAt),
    createdAt: at(edge.createdAt) ?? 0,
    expiredAt: at(edge.expiredAt),
    reason: edge.expiredReason ?? "",
    expiredBy: edge.expiredByFact ?? "",
    expiredByEpisode: edge.expiredByEpisode ?? "",
    updateReason: edge.updateReason ?? "",
    retractReason: edge.retractReason ?? "",
    previous: edge.previousUuid ?? "",
    episodes: edge.episodes ?? [],
  };
}

export function episodeOf(episode: Episode, entities: string[] = []): Told {
  return {
    uuid: episode.uuid!,
    name: episode.name ?? "",
    body: episode.body ?? "",
    source: (episode.source ?? "").replace("SOURCE_", "").toLowerCase(),
    description: episode.sourceDescription ?? "",
    referenceAt: at(episode.referenceTime) ?? 0,
    createdAt: at(episode.createdAt) ?? 0,
    entities,
  };
}

/** One group. `subscribe` tells of every change. */
export class Graph {
  readonly entities = new Map<string, Entity>();
  readonly facts = new Map<string, Fact>();
  readonly episodes = new Map<string, Told>();
  changes: Change[] = [];
  current = false; // all there is has been told
  failure: Error | null = null;
  round = 0; // grows with each message
  private readonly ends = new Map<string, Set<string>>(); // facts by entity
  private readonly stated = new Map<string, Set<string>>(); // facts by episode
  private readonly listeners = new Set<() => void>();
  private cursor = "";
  private stop: AbortController | null = null;

  constructor(readonly groupId: string) {}

  /** Hear of changes, and watch the group as long as somebody does. */
  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    if (this.stop === null) void this.watch();
    return () => {
      this.listeners.delete(listener);
      if (this.listeners.size === 0) {
        this.stop?.abort();
        this.stop = null;
      }
    };
  }

  factsOf(entity: string): Fact[] {
    return this.named(this.ends.get(entity));
  }

  factsFrom(episode: string): Fact[] {
    return this.named(this.stated.get(episode));
  }

  degree(entity: string): number {
    return this.ends.get(entity)?.size ?? 0;
  }

  private named(uuids: Set<string> | undefined): Fact[] {
    return [...(uuids ?? [])].map((uuid) => this.facts.get(uuid)!);
  }

  private async watch(): Promise<void> {
    const stop = (this.stop = new AbortController());
    let pauseMs = 500;
    while (!stop.signal.aborted) {
      try {
        for await (const told of watched(this.groupId, this.cursor, stop.signal)) {
          this.apply(told);
          pauseMs = 500;
        }
      } catch (error) {
        if (stop.signal.aborted) return;
        this.failure = error as Error;
        this.tell();
        if (error instanceof Refused && !["unavailable", "deadline_exceeded"].includes(error.code)) break;
      }
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
      pauseMs = Math.min(pauseMs * 2, 10_000);
    }
    if (this.stop === stop) this.stop = null;
  }

  /** Take one message of WatchGroup over. */
  apply(told: WatchGroupOutput): void {
    if (told.reset) this.forget();
    const live = this.current;
    for (const uuid of told.removedEntities ?? []) this.entities.delete(uuid);
    for (const uuid of told.removedFacts ?? []) this.drop(uuid);
    for (const uuid of told.removedEpisodes ?? []) this.episodes.delete(uuid);
    for (const node of told.entities ?? []) this.note(live, "entity", node.uuid!, node.name ?? "", this.entities.has(node.uuid!));
    for (const node of told.entities ?? []) this.entities.set(node.uuid!, entityOf(node));
    for (const edge of told.facts ?? []) {
      this.note(live, "fact", edge.uuid!, edge.fact ?? "", this.facts.has(edge.uuid!));
      this.put(factOf(edge));
    }
    for (const each of told.episodes ?? []) {
      const episode = episodeOf(each.episode!, each.entityUuids ?? []);
      this.note(live, "episode", episode.uuid, episode.body.slice(0, 200), this.episodes.has(episode.uuid));
      this.episodes.set(episode.uuid, episode);
    }
    this.cursor = told.cursor ?? this.cursor;
    this.current ||= told.current ?? false; // a change may come in several messages
    this.failure = null;
    this.round += 1;
    this.tell();
  }

  private note(live: boolean, kind: Change["kind"], uuid: string, text: string, known: boolean): void {
    if (!live || (known && kind !== "fact")) return;
    this.changes = [{ atMs: Date.now(), kind, uuid, text }, ...this.changes].slice(0, CHANGES);
  }

  private forget(): void {
    for (const each of [this.entities, this.facts, this.episodes, this.ends, this.stated]) each.clear();
    this.current = false;
  }

  private put(fact: Fact): void {
    this.drop(fact.uuid);
    this.facts.set(fact.uuid, fact);
    for (const entity of [fact.source, fact.target]) added(this.ends, entity, fact.uuid);
    for (const episode of fact.episodes) added(this.stated, episode, fact.uuid);
  }

  private drop(uuid: string): void {
    const fact = this.facts.get(uuid);
    if (fact === undefined) return;
    this.facts.delete(uuid);
    for (const entity of [fact.source, fact.target]) this.ends.get(entity)?.delete(uuid);
    for (const episode of fact.episodes) this.stated.get(episode)?.delete(uuid);
  }

  private tell(): void {
    for (const listener of this.listeners) listener();
  }
}

function added(index: Map<string, Set<string>>, key: string, value: string): void {
  const found = index.get(key);
  if (found === undefined) index.set(key, new Set([value]));
  else found.add(value);
}

const held = new Map<string, Graph>();

/** The graph of a group, the same whoever asks. */
export function graphOf(groupId: string): Graph {
  let found = held.get(groupId);
  if (found === undefined) held.set(groupId, (found = new Graph(groupId)));
  return found;
}
