// What calls answer, as plain objects: times are dates, states are words. `raw` of each is the message of the contract.
import { timestampDate, type Timestamp } from "@bufbuild/protobuf/wkt";
import type { JsonObject } from "@bufbuild/protobuf";
import type * as admin from "./gen/kgsvc/v1/admin_pb.js";
import * as documents from "./gen/kgsvc/v1/documents_pb.js";
import * as retrieval from "./gen/kgsvc/v1/retrieval_pb.js";
import * as types from "./gen/kgsvc/v1/types_pb.js";

type Words<E> = Exclude<Lowercase<keyof E & string>, "unspecified">;

/** A value of an enum; what only a newer service knows is its number. */
function word<E extends Record<string, unknown>>(values: E, value: number): Words<E> {
  return String(values[value] ?? value).toLowerCase() as Words<E>;
}

/** A view of a message: `raw` shows neither in logs nor in JSON. */
function view<R, V extends object>(raw: R, fields: V): V & { readonly raw: R } {
  return Object.defineProperty(fields, "raw", { value: raw }) as V & { readonly raw: R };
}

const time = (stamp: Timestamp | undefined): Date | undefined => stamp && timestampDate(stamp);
const always = (stamp: Timestamp | undefined): Date => (stamp ? timestampDate(stamp) : new Date(0));

/** Something that is, or was, true of two things. */
export interface Fact {
  uuid: string;
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
  expiredReason: string | undefined;
  /** That state it, by uuid. */
  episodes: string[];
  attributes: JsonObject | undefined;
  readonly raw: types.FactResult;
}

export function fact(raw: types.FactResult): Fact {
  const { uuid, expiredReason, episodes, attributes } = raw;
  return view(raw, {
    uuid, text: raw.fact, relation: raw.name, source: raw.sourceName, target: raw.targetName,
    sourceUuid: raw.sourceNodeUuid, targetUuid: raw.targetNodeUuid,
    validAt: time(raw.validAt), invalidAt: time(raw.invalidAt),
    createdAt: always(raw.createdAt), expiredAt: time(raw.expiredAt), expiredReason, episodes, attributes,
  });
}

/** A text as it was added. */
export interface Episode {
  uuid: string;
  name: string | undefined;
  body: string;
  kind: Words<typeof types.Source>;
  referenceTime: Date;
  createdAt: Date;
  sourceDescription: string | undefined;
  sourceUrl: string | undefined;
  readonly raw: types.Episode;
}

export function episode(raw: types.Episode): Episode {
  const { uuid, name, body, sourceDescription, sourceUrl } = raw;
  return view(raw, {
    uuid, name, body, kind: word(types.Source, raw.source), referenceTime: always(raw.referenceTime),
    createdAt: always(raw.createdAt), sourceDescription, sourceUrl,
  });
}

/** A thing that facts are about. */
export interface Entity {
  uuid: string;
  name: string;
  summary: string | undefined;
  labels: string[];
  aliases: string[];
  attributes: JsonObject | undefined;
  createdAt: Date;
  readonly raw: types.EntityNode;
}

export function entity(raw: types.EntityNode): Entity {
  const { uuid, name, summary, labels, aliases, attributes } = raw;
  return view(raw, { uuid, name, summary, labels, aliases, attributes, createdAt: always(raw.createdAt) });
}

/** An entity with what is known about it. */
export interface KnownEntity {
  uuid: string;
  name: string;
  type: string;
  summary: string | undefined;
  facts: Fact[];
  /** The latest that name it. */
  episodes: Episode[];
  readonly raw: retrieval.GetEntityNodeOutput;
}

export function knownEntity(raw: retrieval.GetEntityNodeOutput): KnownEntity {
  const { uuid = "", name = "", summary } = raw.node ?? {};
  return view(raw, { uuid, name, type: raw.type, summary, facts: raw.facts.map(fact), episodes: raw.episodes.map(episode) });
}

/** A part of a document. */
export interface Chunk {
  uuid: string;
  documentId: string;
  title: string | undefined;
  text: string;
  headings: string[];
  page: number | undefined;
  readonly raw: retrieval.ProvenanceChunk;
}

function chunk(raw: retrieval.ProvenanceChunk): Chunk {
  const { title, headings, page } = raw;
  return view(raw, { uuid: raw.chunkId, documentId: raw.fullDocId, title, text: raw.content, headings, page });
}

/** What a search found, the best first. */
export interface Found {
  facts: Fact[];
  entities: Entity[];
  episodes: Episode[];
  chunks: Chunk[];
  context: string | undefined;
  readonly raw: retrieval.SearchGraphOutput;
}

export function found(raw: retrieval.SearchGraphOutput): Found {
  return view(raw, {
    facts: raw.facts.flatMap((hit) => (hit.fact ? [fact(hit.fact)] : [])),
    entities: raw.nodes.flatMap((hit) => (hit.node ? [entity(hit.node)] : [])),
    episodes: raw.episodes.flatMap((hit) => (hit.episode ? [episode(hit.episode)] : [])),
    chunks: raw.chunks.flatMap((hit) => (hit.chunk ? [chunk(hit.chunk)] : [])),
    context: raw.context,
  });
}

/** An episode with the entities that it names, by uuid. */
export interface WatchedEpisode {
  uuid: string;
  episode: Episode;
  entities: string[];
}

/** What changed in a group, in one step: what is there now, and what is gone. */
export interface Changes {
  /** Of the graph: everything up to it has been told. */
  rev: number;
  /** Where to go on, once this is dealt with. */
  cursor: string;
  /** Forget what was told before: all that there is follows. */
  reset: boolean;
  /** There was nothing more when this was sent. */
  current: boolean;
  entities: Entity[];
  facts: Fact[];
  episodes: WatchedEpisode[];
  removedEntities: string[];
  removedFacts: string[];
  removedEpisodes: string[];
  readonly raw: retrieval.WatchGroupOutput;
}

export function changes(raw: retrieval.WatchGroupOutput): Changes {
  const { cursor, reset, current, removedEntities, removedFacts, removedEpisodes } = raw;
  return view(raw, {
    rev: Number(raw.rev), cursor, reset, current, entities: raw.entities.map(entity), facts: raw.facts.map(fact),
    episodes: raw.episodes.flatMap((each) =>
      each.episode
        ? [{ uuid: each.episode.uuid, episode: episode(each.episode), entities: each.entityUuids }]
        : [],
    ),
    removedEntities, removedFacts, removedEpisodes,
  });
}

/** What a claim of an answer rests on. */
export interface Citation {
  number: number;
  kind: Words<typeof retrieval.CitationKind>;
  uuid: string;
  text: string;
  readonly raw: retrieval.Citation;
}

function citation(raw: retrieval.Citation): Citation {
  const { number, uuid, text } = raw;
  return view(raw, { number, kind: word(retrieval.CitationKind, raw.kind), uuid, text });
}

/** An answer in words. */
export interface Answer {
  text: string | undefined;
  /** False: the memory does not hold the answer. */
  known: boolean | undefined;
  citations: Citation[];
  sources: string[];
  readonly raw: retrieval.AskResult;
}

export function answer(raw: retrieval.AskResult): Answer {
  return view(raw, {
    text: raw.answer, known: raw.known, citations: raw.citations.map(citation), sources: raw.sourceTexts,
  });
}

/** How far something is on its way into the graph. */
export type State = Words<typeof types.ItemState>;

/** Something on its way into the graph. */
export interface Item {
  uuid: string;
  name: string | undefined;
  state: State;
  attempts: number;
  reason: string | undefined;
  updatedAt: Date;
  readonly raw: types.ReceiptItem | types.ListedItem;
}

export function item(raw: types.ReceiptItem | types.ListedItem): Item {
  const { uuid, name, attempts, reason } = raw;
  return view(raw, {
    uuid, name, state: word(types.ItemState, raw.state), attempts, reason, updatedAt: always(raw.updatedAt),
  });
}

/** A document and how far it is. */
export interface Document {
  id: string;
  title: string | undefined;
  state: Words<typeof documents.DocumentState>;
  reason: string | undefined;
  revision: number;
  referenceTime: Date;
  chunks: number;
  chunksInGraph: number;
  readonly raw: documents.Document;
}

export function document(raw: documents.Document): Document {
  const { title, reason, revision, chunks, chunksInGraph } = raw;
  return view(raw, {
    id: raw.documentId, title, state: word(documents.DocumentState, raw.state), reason, revision,
    referenceTime: always(raw.referenceTime), chunks, chunksInGraph,
  });
}

/** What became of a document that was sent. */
export interface AddedDocument {
  id: string;
  arrival: Words<typeof documents.DocumentArrival>;
  revision: number;
  newChunks: number;
  receipts: string[];
  readonly raw: documents.AddedDocument;
}

export function addedDocument(raw: documents.AddedDocument): AddedDocument {
  const { revision, newChunks } = raw;
  const arrival = word(documents.DocumentArrival, raw.arrival);
  return view(raw, { id: raw.documentId, arrival, revision, newChunks, receipts: raw.receiptIds });
}

/** What runs there. */
export interface Health {
  status: string;
  version: string;
  contractRevision: number;
  store: string;
  readonly raw: admin.HealthcheckOutput;
}

export function health(raw: admin.HealthcheckOutput): Health {
  const { status, version, contractRevision, store } = raw;
  return view(raw, { status, version, contractRevision, store });
}

/** How much a group holds. */
export interface GroupSummary {
  id: string;
  episodes: number;
  entities: number;
  facts: number;
  changedAt: Date | undefined;
  readonly raw: admin.GroupSummary;
}

export function groupSummary(raw: admin.GroupSummary): GroupSummary {
  const { groupId, episodes, entities, facts, changedAt } = raw;
  return view(raw, { id: groupId, episodes, entities, facts, changedAt: time(changedAt) });
}

/** One of the items that were added. */
export interface AcceptedItem {
  uuid: string;
  /** It was there before. */
  duplicate: boolean;
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
