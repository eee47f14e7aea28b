// The memory of a tenant: what can be added, asked and forgotten.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { answers, WAIT_MS, type Caller, type CallOptions } from "./calls.js";
import { addDocument, type DocumentOptions } from "./uploading.js";
import { DeadlineExceeded, failure } from "./errors.js";
import type { AddEpisodesOutput, AddMessagesOutput } from "./gen/kgsvc/v1/ingestion_pb.js";
import { SearchScope, type AskResult, type SearchFiltersSchema } from "./gen/kgsvc/v1/retrieval_pb.js";
import { ItemState } from "./gen/kgsvc/v1/types_pb.js";
import { Converter, timestamp, type Addable, type Sent } from "./items.js";
import { Sending } from "./sending.js";
import * as values from "./values.js";

/** A point in both times. */
export interface AsOf {
  /** What was true then. */
  asOf?: Date | undefined;
  /** What was known then. */
  knownAsOf?: Date | undefined;
}

export interface SearchOptions extends CallOptions, AsOf {
  /** Most results; 10. */
  limit?: number | undefined;
  /** What to find; facts. */
  kind?: "facts" | "nodes" | "episodes" | "communities" | "chunks" | undefined;
  /** Relations of the facts, such as WORKS_AT. */
  relations?: string[] | undefined;
  /** Types of the entities, such as Person. */
  types?: string[] | undefined;
  /** Adds a text of what was found, to put before a language model, of so many tokens. */
  contextTokens?: number | undefined;
}

export interface AddOptions extends CallOptions {
  /** That of the first item which tells none; now. */
  time?: Date | undefined;
  /** The same call again within a day changes nothing. */
  key?: string | undefined;
  /** Return once everything is in the graph or parked. Throws after ten minutes, whatever `timeoutMs` says. */
  wait?: boolean | undefined;
}

/** Something to forget: one of these. */
export type Forgettable = { episode: string } | { document: string } | { fact: string } | { everything: true };

/** The memory of a tenant. */
export class Group {
  constructor(private readonly caller: Caller, readonly id: string) {}

  /** Adds messages of a chat, or texts and notes: all or none, at most 256. */
  async add(items: Addable | Iterable<Addable>, options: AddOptions = {}): Promise<values.Receipt> {
    const several = typeof items === "object" && Symbol.iterator in items;
    const converter = new Converter(options.time ?? this.caller.runtime.now());
    const sent = [...(several ? items : [items])].flatMap((item) => converter.sent(item) ?? []);
    if (sent.length === 0) return values.receipt("", []);
    const output = await this.added(sent, options.key ?? this.caller.runtime.newId(), options);
    const receipt = values.receipt(output.receiptId, output.items);
    if (options.wait) await this.wait(receipt, { signal: options.signal });
    return receipt;
  }

  private added(sent: Sent[], idempotencyKey: string, options: CallOptions) {
    const { ingestion } = this.caller;
    const messages = sent.flatMap((each) => (each.case === "message" ? [each.value] : []));
    const items = sent.flatMap((each) => (each.case === "episode" ? [each.value] : []));
    if (messages.length > 0 && items.length > 0) {
      throw new TypeError("messages and notes go in calls of their own, or in stream()");
    }
    const groupId = this.id;
    return this.caller.call<AddEpisodesOutput | AddMessagesOutput>(options, (requestId, call) =>
      items.length > 0
        ? ingestion.addEpisodes({ requestId, idempotencyKey, input: { groupId, items } }, call)
        : ingestion.addMessages({ requestId, idempotencyKey, input: { groupId, messages } }, call),
    );
  }

  /**
   * Sends any number of items, and returns when each is stored or refused. At most 1,024 items and 8 MiB are on
   * their way: `items` is read no faster. Where the connection breaks, what was not answered is sent again. Throws
   * KgsvcError when the service refuses the stream, or answers nothing for the client's timeout; then each item that
   * was read from `items` is stored or refused, but for at most the last 1,025, which may be stored, too.
   */
  async stream(
    items: Iterable<Addable> | AsyncIterable<Addable>, options: CallOptions & { time?: Date | undefined } = {},
  ): Promise<values.Report> {
    const converter = new Converter(options.time ?? this.caller.runtime.now());
    return new Sending(this.caller, this.id, options).run(items, converter);
  }

  /** Waits until all items of a receipt, a document or a report are in the graph, parked or deleted. */
  async wait(
    receipt: string | { readonly receipts: readonly string[] }, options: CallOptions = {},
  ): Promise<values.Outcome> {
    const until = this.caller.attempts(options.timeoutMs ?? WAIT_MS);
    const items = new Map<string, values.Item>();
    for (const receiptId of typeof receipt === "string" ? [receipt] : receipt.receipts) {
      await this.caller.each(
        { signal: options.signal, timeoutMs: until.leftMs, tries: Infinity },
        (requestId, sent) => this.caller.ingestion.watchReceipt({ requestId, input: { receiptId } }, sent),
        (output) => output.items.forEach((each) => items.set(each.uuid, values.item(each))),
      );
    }
    return { items, parked: [...items.values()].filter(({ state }) => state === "parked") };
  }

  /** Finds what bears on a query: facts, or another kind. */
  async search(query: string, options: SearchOptions = {}): Promise<values.Found> {
    const { kind = "facts", contextTokens } = options;
    const input = {
      groupIds: [this.id],
      query,
      filters: { ...times(options), relationNames: options.relations ?? [], entityTypes: options.types ?? [] },
      maxResults: options.limit,
      includeContext: contextTokens ? true : undefined,
      contextTokens,
      // Facts are searched best without naming them.
      searchType: kind === "facts" ? undefined : SearchScope[kind.toUpperCase() as keyof typeof SearchScope],
    };
    return values.found(
      await this.caller.call(options, (requestId, sent) => this.caller.retrieval.searchGraph({ requestId, input }, sent)),
    );
  }

  /** What is known that bears on a query, as a text to put before a language model. */
  async context(query: string, options: CallOptions & AsOf & { tokens?: number | undefined } = {}): Promise<string> {
    const { tokens, ...others } = options;
    return (await this.search(query, { ...others, contextTokens: tokens ?? 2_000 })).context ?? "";
  }

  /** Answers a question in words, from the memory alone. `onPiece` gets the answer as it is written. */
  async ask(
    question: string, options: CallOptions & AsOf & { onPiece?: ((piece: string) => void) | undefined } = {},
  ): Promise<values.Answer> {
    const input = { groupIds: [this.id], question, filters: times(options) };
    let result: AskResult | undefined;
    await this.caller.each(
      { timeoutMs: 120_000, ...options, onceBegun: true },
      (requestId, sent) => this.caller.retrieval.ask({ requestId, input }, sent),
      (output) => {
        if (output.piece !== undefined) options.onPiece?.(output.piece);
        else result = output.result;
      },
    );
    if (result === undefined) throw failure("INTERNAL", "the service ended without an answer");
    return values.answer(result);
  }

  /** A fact with those that it replaced and that replaced it, in the order they were written. */
  async history(fact: string | { readonly uuid: string }, options: CallOptions = {}): Promise<values.Fact[]> {
    const input = { groupId: this.id, uuid: typeof fact === "string" ? fact : fact.uuid };
    const output = await this.caller.call(options, (requestId, sent) =>
      this.caller.retrieval.getFactHistory({ requestId, input }, sent),
    );
    return output.facts.map(values.fact);
  }

  /** An entity with its facts (those that `ended` too, if asked) and the latest episodes that name it. */
  async entity(uuid: string, options: CallOptions & { ended?: boolean | undefined } = {}): Promise<values.KnownEntity> {
    const input = { groupId: this.id, uuid, includeExpired: options.ended || undefined };
    return values.knownEntity(
      await this.caller.call(options, (requestId, sent) => this.caller.retrieval.getEntityNode({ requestId, input }, sent)),
    );
  }

  /**
   * Deletes for good: an episode or a document with all that it alone supports, a fact, or the whole group. Deleting
   * what is not there is no error.
   */
  async forget(what: Forgettable, options: CallOptions = {}): Promise<void> {
    const { admin } = this.caller;
    const groupId = this.id;
    if (Object.keys(what).length !== 1) throw new TypeError("name one of episode, document, fact and everything");
    await this.caller.call<unknown>(options, (requestId, sent) => {
      const of = <I extends object>(input: I) => ({ requestId, input: { groupId, ...input } });
      if ("episode" in what) return admin.deleteEpisode(of({ uuid: what.episode, cascade: true }), sent);
      if ("document" in what) return admin.deleteDocument(of({ documentId: what.document }), sent);
      if ("fact" in what) return admin.deleteEntityEdge(of({ uuid: what.fact }), sent);
      if (what.everything === true) return admin.deleteGroup(of({}), sent);
      throw new TypeError("name one of episode, document, fact and everything");
    });
  }

  /** Adds a document, or a new text of one: a file, a text, or the bytes of a file whose `path` is named. */
  async addDocument(
    content: string | Uint8Array | { readonly file: string }, options: DocumentOptions = {},
  ): Promise<values.AddedDocument> {
    return addDocument(this.caller, this.id, content, options);
  }

  /**
   * A document and how far it is. With `wait`, once all of it is read, or as much as can be, and what only former
   * texts said is withdrawn.
   */
  async document(id: string, options: CallOptions & { wait?: boolean | undefined } = {}): Promise<values.Document> {
    const { runtime } = this.caller;
    const timeoutMs = options.timeoutMs ?? WAIT_MS;
    const until = runtime.monotonic() + timeoutMs;
    const input = { groupId: this.id, documentId: id };
    for (;;) {
      const { document } = await this.caller.call(options.wait ? { signal: options.signal } : options, (requestId, sent) =>
        this.caller.retrieval.getDocument({ requestId, input }, sent),
      );
      if (document === undefined) throw failure("INTERNAL", "the service answered nothing");
      const found = values.document(document);
      if (!options.wait || found.state === "failed" || (found.state === "processed" && document.settled)) return found;
      if (runtime.monotonic() > until) {
        throw failure("DEADLINE_EXCEEDED", `${id} is not read after ${timeoutMs} ms; the service works on`);
      }
      await runtime.sleep(250, options.signal);
    }
  }

  /** The documents of the group, by id. */
  documents(options: CallOptions = {}): AsyncGenerator<values.Document, void, undefined> {
    return this.caller.pages(
      options,
      (pageToken, { requestId, ...sent }) =>
        this.caller.retrieval.listDocuments({ requestId, input: { groupId: this.id, pageToken } }, sent),
      (page) => page.documents.map(values.document),
    );
  }

  /** The latest texts, the oldest of them first. */
  episodes(
    options: CallOptions & { last?: number | undefined; pageSize?: number | undefined } = {},
  ): AsyncGenerator<values.Episode, void, undefined> {
    const wanted = { groupId: this.id, lastN: options.last ?? 1_000, pageSize: options.pageSize ?? 100 };
    return this.caller.pages(
      options,
      (pageToken, { requestId, ...sent }) =>
        this.caller.retrieval.getEpisodes({ requestId, input: { ...wanted, pageToken } }, sent),
      (page) => page.episodes.map(values.episode),
    );
  }

  /** What was added, in order; with `states` what is in one of them. */
  items(
    options: CallOptions & { states?: values.State[] | undefined } = {},
  ): AsyncGenerator<values.Item, void, undefined> {
    const states = (options.states ?? []).map((state) => ItemState[state.toUpperCase() as keyof typeof ItemState]);
    return this.caller.pages(
      options,
      (pageToken, { requestId, ...sent }) =>
        this.caller.ingestion.listItems({ requestId, input: { groupId: this.id, states, pageToken } }, sent),
      (page) => page.items.map(values.item),
    );
  }

  /**
   * What is in the group, and then every change of it, without end, over broken connections; `cursor` is that of the
   * last changes that were dealt with. Throws KgsvcError when the service refuses it, or is away for ten minutes.
   */
  async *follow(
    cursor?: string, options: { signal?: AbortSignal | undefined } = {},
  ): AsyncGenerator<values.Changes, void, undefined> {
    const { caller } = this;
    const { signal } = options;
    const begun = () => caller.attempts(WAIT_MS, Infinity);
    for (let attempts = begun(); ; ) {
      caller.check(signal);
      const request = { requestId: caller.runtime.newId(), input: { groupId: this.id, cursor } };
      const timeoutMs = Math.ceil(attempts.leftMs);
      const open = (signal: AbortSignal) => caller.retrieval.watchGroup(request, { signal, timeoutMs });
      let broken = failure("BROKEN", "the service ended the stream");
      try {
        for await (const { output } of answers(open, signal)) {
          if (output === undefined) continue;
          cursor = output.cursor;
          attempts = begun();
          yield values.changes(output);
        }
      } catch (thrown) {
        caller.check(signal);
        broken = caller.error(thrown, request.requestId);
      }
      if (broken instanceof DeadlineExceeded) attempts = begun(); // it was quiet until then, which is no failure
      await caller.runtime.sleep(attempts.pauseMs(broken), signal);
    }
  }
}

function times({ asOf, knownAsOf }: AsOf): MessageInitShape<typeof SearchFiltersSchema> {
  return { validAsOf: asOf && timestamp(asOf), knownAsOf: knownAsOf && timestamp(knownAsOf) };
}
