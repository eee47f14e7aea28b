// What calls answer, as plain objects: times are dates, states are words. Those that show a message of the contract have
// it as `raw`.
import { timestampDate, type Timestamp } from "@bufbuild/protobuf/wkt";
import type * as admin from "./gen/kgsvc/v1/admin_pb.js";
import * as documents from "./gen/kgsvc/v1/documents_pb.js";
import * as retrieval from "./gen/kgsvc/v1/retrieval_pb.js";
import * as types from "./gen/kgsvc/v1/types_pb.js";

type Words<E> = Exclude<Lowercase<keyof E & string>, "unspecified">;

/** A value of an enum; what only a newer service knows is its number. */
function word<E extends Record<string, unknown>>(values: E, value: number): Words<E> {
  return String(values[value] ?? value).toLowerCase() as Words<E>;
}

/** Shows a message of the contract; some of its fields as they are. `raw` is in no log and no JSON. */
export type View<R, K extends keyof R> = Pick<R, K> & { readonly raw: R };

function view<R extends object, K extends keyof R, V extends object>(
  raw: R, same: readonly K[], others: V,
): V & View<R, K> {
  const shown = Object.fromEntries(same.map((name) => [name, raw[name]]));
  return Object.defineProperty({ ...shown, ...others }, "raw", { value: raw }) as V & View<R, K>;
}

const time = (stamp: Timestamp | undefined): Date | undefined => stamp && timestampDate(stamp);
const always = (stamp: Timestamp | undefined): Date => (stamp ? timestampDate(stamp) : new Date(0));

/** Something that is, or was, true of two things. */
export interface Fact extends View<types.FactResult, "uuid" | "expiredReason" | "episodes" | "attributes"> {
  text: string;
  relation: string;
  source: string;
  target: string;
  sourceUuid: string;
  targetUuid: string;
  /** Since when it is true; undefined: not known. */
  validAt: Date | undefined;
  /** Since when no longer; undefined: still true as far as known. */
  invalidAt: Date | undefined;
  /** Since when the service believes it. */
  createdAt: Date;
  /** Since when no longer. */
  expiredAt: Date | undefined;
}

export function fact(raw: types.FactResult): Fact {
  return view(raw, ["uuid", "expiredReason", "episodes", "attributes"], {
    text: raw.fact, relation: raw.name, source: raw.sourceName, target: raw.targetName,
    sourceUuid: raw.sourceNodeUuid, targetUuid: raw.targetNodeUuid,
    validAt: time(raw.validAt), invalidAt: time(raw.invalidAt),
    createdAt: always(raw.createdAt), expiredAt: time(raw.expiredAt),
  });
}

/** A text as it was added. */
export interface Episode extends View<types.Episode, "uuid" | "name" | "body" | "sourceDescription" | "sourceUrl"> {
  kind: Words<typeof types.Source>;
  referenceTime: Date;
  createdAt: Date;
}

export function episode(raw: types.Episode): Episode {
  return view(raw, ["uuid", "name", "body", "sourceDescription", "sourceUrl"], {
    kind: word(types.Source, raw.source), referenceTime: always(raw.referenceTime), createdAt: always(raw.createdAt),
  });
}

/** A thing that facts are about. */
export interface Entity
  extends View<types.EntityNode, "uuid" | "name" | "summary" | "labels" | "aliases" | "attributes"> {
  createdAt: Date;
}

export function entity(raw: types.EntityNode): Entity {
  const same = ["uuid", "name", "summary", "labels", "aliases", "attributes"] as const;
  return view(raw, same, { createdAt: always(raw.createdAt) });
}

/** An entity with what is known about it. */
export interface KnownEntity extends View<retrieval.GetEntityNodeOutput, "type"> {
  uuid: string;
  name: string;
  summary: string | undefined;
  facts: Fact[];
  /** The latest that name it. */
  episodes: Episode[];
}

export function knownEntity(raw: retrieval.GetEntityNodeOutput): KnownEntity {
  const { uuid = "", name = "", summary } = raw.node ?? {};
  const [facts, episodes] = [raw.facts.map(fact), raw.episodes.map(episode)];
  return view(raw, ["type"], { uuid, name, summary, facts, episodes });
}

/** A part of a document. */
export interface Chunk extends View<retrieval.ProvenanceChunk, "title" | "headings" | "page"> {
  uuid: string;
  documentId: string;
  text: string;
}

function chunk(raw: retrieval.ProvenanceChunk): Chunk {
  const { chunkId: uuid, fullDocId: documentId, content: text } = raw;
  return view(raw, ["title", "headings", "page"], { uuid, documentId, text });
}

/** What a search found, the best first. */
export interface Found extends View<retrieval.SearchGraphOutput, "context"> {
  facts: Fact[];
  entities: Entity[];
  episodes: Episode[];
  chunks: Chunk[];
}

export function found(raw: retrieval.SearchGraphOutput): Found {
  return view(raw, ["context"], {
    facts: raw.facts.flatMap((hit) => (hit.fact ? [fact(hit.fact)] : [])),
    entities: raw.nodes.flatMap((hit) => (hit.node ? [entity(hit.node)] : [])),
    episodes: raw.episodes.flatMap((hit) => (hit.episode ? [episode(hit.episode)] : [])),
    chunks: raw.chunks.flatMap((hit) => (hit.chunk ? [chunk(hit.chunk)] : [])),
  });
}

/** An episode with the entities that it names, by uuid. */
export interface WatchedEpisode {
  uuid: string;
  episode: Episode;
  entities: string[];
}

type Told = "cursor" | "reset" | "current" | "removedEntities" | "removedFacts" | "removedEpisodes";

/** What changed in a group, in one step: what is there now, and what is gone. */
export interface Changes extends View<retrieval.WatchGroupOutput, Told> {
  /** Of the graph: everything up to it has been told. */
  rev: number;
  entities: Entity[];
  facts: Fact[];
  episodes: WatchedEpisode[];
}

export function changes(raw: retrieval.WatchGroupOutput): Changes {
  const same = ["cursor", "reset", "current", "removedEntities", "removedFacts", "removedEpisodes"] as const;
  return view(raw, same, {
    rev: Number(raw.rev), entities: raw.entities.map(entity), facts: raw.facts.map(fact),
    episodes: raw.episodes.flatMap(({ episode: told, entityUuids: entities }) =>
      told ? [{ uuid: told.uuid, episode: episode(told), entities }] : [],
    ),
  });
}

/** What a claim of an answer rests on. */
export interface Citation extends View<retrieval.Citation, "number" | "uuid" | "text"> {
  kind: Words<typeof retrieval.CitationKind>;
}

function citation(raw: retrieval.Citation): Citation {
  return view(raw, ["number", "uuid", "text"], { kind: word(retrieval.CitationKind, raw.kind) });
}

/** An answer in words. */
export interface Answer extends View<retrieval.AskResult, "known"> {
  text: string | undefined;
  citations: Citation[];
  sources: string[];
}

export function answer(raw: retrieval.AskResult): Answer {
  const { answer: text, sourceTexts: sources } = raw;
  return view(raw, ["known"], { text, citations: raw.citations.map(citation), sources });
}

/** How far something is on its way into the graph. */
export type State = Words<typeof types.ItemState>;

/** Something on its way into the graph. */
export interface Item extends Pick<types.ListedItem, "uuid" | "name" | "attempts" | "reason"> {
  readonly raw: types.ReceiptItem | types.ListedItem;
  state: State;
  updatedAt: Date;
}

export function item(raw: types.ReceiptItem | types.ListedItem): Item {
  const state = word(types.ItemState, raw.state);
  return view(raw, ["uuid", "name", "attempts", "reason"], { state, updatedAt: always(raw.updatedAt) });
}

/** A document and how far it is. */
export interface Document
  extends View<documents.Document, "title" | "reason" | "revision" | "chunks" | "chunksInGraph"> {
  id: string;
  state: Words<typeof documents.DocumentState>;
  referenceTime: Date;
}

export function document(raw: documents.Document): Document {
  const state = word(documents.DocumentState, raw.state);
  const same = ["title", "reason", "revision", "chunks", "chunksInGraph"] as const;
  return view(raw, same, { id: raw.documentId, state, referenceTime: always(raw.referenceTime) });
}

/** What became of a document that was sent. */
export interface AddedDocument extends View<documents.AddedDocument, "revision" | "newChunks"> {
  id: string;
  arrival: Words<typeof documents.DocumentArrival>;
  receipts: string[];
}

export function addedDocument(raw: documents.AddedDocument): AddedDocument {
  const arrival = word(documents.DocumentArrival, raw.arrival);
  return view(raw, ["revision", "newChunks"], { id: raw.documentId, arrival, receipts: raw.receiptIds });
}

/** What runs there. */
export type Health = View<admin.HealthcheckOutput, "status" | "version" | "contractRevision" | "store">;

export function health(raw: admin.HealthcheckOutput): Health {
  return view(raw, ["status", "version", "contractRevision", "store"], {});
}

/** How much a group holds. */
export interface GroupSummary extends View<admin.GroupSummary, "episodes" | "entities" | "facts"> {
  id: string;
  changedAt: Date | undefined;
}

export function groupSummary(raw: admin.GroupSummary): GroupSummary {
  return view(raw, ["episodes", "entities", "facts"], { id: raw.groupId, changedAt: time(raw.changedAt) });
}

/** One of the items that were added. */
export interface AcceptedItem extends Pick<types.AcceptedItem, "uuid" | "duplicate"> {
  state: State;
}

/** What a call added, to be waited for. Without items: there was nothing to send. */
export interface Receipt {
  id: string;
  items: AcceptedItem[];
  /** Its id, as `wait` wants it. */
  receipts: string[];
}

export function receipt(id: string, accepted: types.AcceptedItem[]): Receipt {
  const items = accepted.map(({ uuid, duplicate, state }) => ({ uuid, duplicate, state: word(types.ItemState, state) }));
  return { id, items, receipts: id ? [id] : [] };
}

/** What became of items that were waited for. */
export interface Outcome {
  /** By uuid. */
  items: Map<string, Item>;
  /** Those that could not be read; each says why. */
  parked: Item[];
}

/** An item of a stream that the service does not take: the number it had, from 0, and why. */
export interface Refusal {
  index: number;
  code: string;
  message: string;
}

/** What became of the items of a stream. */
export interface Report {
  stored: number;
  /** They were there before. */
  duplicates: number;
  refused: Refusal[];
  /** One for each batch that the service stored. */
  receipts: string[];
}
