// Calls of the service: stubs that say who calls, deadlines, attempts.
import { ConnectError, createClient, type CallOptions as Sent, type Client, type Transport } from "@connectrpc/connect";
import { Attempts, connectionOf, RUNTIME, type ClientOptions, type Connection, type Runtime } from "./connection.js";
import { failure, fromConnect, type KgsvcError } from "./errors.js";
import { AdminService } from "./gen/kgsvc/v1/admin_pb.js";
import type { Error as Refused } from "./gen/kgsvc/v1/envelope_pb.js";
import { IngestionService } from "./gen/kgsvc/v1/ingestion_pb.js";
import { RetrievalService } from "./gen/kgsvc/v1/retrieval_pb.js";

/** Of every call. */
export interface CallOptions {
  /** Ends the call, which then throws the signal's reason. */
  signal?: AbortSignal | undefined;
  /**
   * How long it may take with all attempts; by default that of the client, but two minutes for `ask`, ten for waiting and
   * for documents of more than 3 MiB. Of a listing: each page; of `stream`: the time without any answer. The waiting of
   * `add` is not counted.
   */
  timeoutMs?: number | undefined;
}

/** What depends on where the client runs. */
export interface Platform {
  readonly environment: Record<string, string | undefined>;
  channel(connection: Connection): { transport: Transport; close(): void };
  load(path: string): Promise<{ bytes: Uint8Array; changed: Date }>;
}

/** How long it takes to wait for a work that goes on. */
export const WAIT_MS = 600_000;

type Response<O> = { output?: O | undefined; error?: Refused | undefined };
type Answer<O> = Promise<Response<O> & { requestId: string }>;

/** Makes calls, and makes them again after what may pass: they read, or the service knows what it was sent before. */
export class Caller {
  readonly ingestion: Client<typeof IngestionService>;
  readonly retrieval: Client<typeof RetrievalService>;
  readonly admin: Client<typeof AdminService>;
  readonly runtime: Runtime;
  readonly timeoutMs: number;
  private readonly connection: Connection;
  private readonly end: () => void;
  private closed = false;

  constructor(given: ClientOptions, readonly platform: Platform) {
    this.connection = connectionOf(given, platform.environment);
    this.runtime = given.runtime ?? RUNTIME;
    this.timeoutMs = given.timeoutMs ?? 30_000;
    const channel = given.transport
      ? { transport: given.transport, close: () => undefined }
      : platform.channel(this.connection);
    this.end = channel.close;
    const transport = withHeaders(channel.transport, this.connection.token);
    this.ingestion = createClient(IngestionService, transport);
    this.retrieval = createClient(RetrievalService, transport);
    this.admin = createClient(AdminService, transport);
  }

  close(): void {
    this.closed = true;
    this.end();
  }

  attempts(withinMs = this.timeoutMs, tries?: number): Attempts {
    return new Attempts(this.runtime, withinMs, tries);
  }

  /** Throws when no call may begin. */
  check(signal?: AbortSignal): void {
    signal?.throwIfAborted();
    if (this.closed) throw failure("CANCELLED", "the client is closed");
  }

  /** The error for what a call threw. Throws what is none of a call. */
  error(thrown: unknown, requestId?: string): KgsvcError {
    if (!(thrown instanceof ConnectError)) throw thrown;
    return fromConnect(thrown, this.connection.address, requestId);
  }

  /** The output of a call with one answer. */
  async call<O>(
    options: CallOptions,
    send: (requestId: string, sent: Sent) => Answer<O>,
  ): Promise<O> {
    return this.tried(options, this.attempts(options.timeoutMs), async (requestId, sent) =>
      outputOf(await send(requestId, sent)),
    );
  }

  /** Passes the outputs of a call to `take`. With `onceBegun`, nothing is tried again after the first. */
  async each<O>(
    options: CallOptions & { tries?: number; onceBegun?: boolean },
    open: (requestId: string, sent: Sent) => AsyncIterable<Response<O>>,
    take: (output: O) => void,
  ): Promise<void> {
    const { signal } = options;
    const attempts = this.attempts(options.timeoutMs, options.tries);
    await this.tried(options, attempts, async (requestId, sent) => {
      for await (const answer of answers((signal) => open(requestId, { ...sent, signal }), signal)) {
        attempts.progressed(options.onceBegun ? 1 : undefined);
        take(outputOf(answer));
      }
    });
  }

  private async tried<T>(
    { signal }: CallOptions, attempts: Attempts, attempt: (requestId: string, sent: Sent) => Promise<T>,
  ): Promise<T> {
    const requestId = this.runtime.newId();
    for (;;) {
      this.check(signal);
      try {
        return await attempt(requestId, { signal, timeoutMs: Math.ceil(attempts.leftMs) });
      } catch (thrown) {
        this.check(signal);
        await this.runtime.sleep(attempts.pauseMs(this.error(thrown, requestId)), signal);
      }
    }
  }

  /** The entries of a listing, a page at a time. */
  async *pages<P extends { nextPageToken: string }, T>(
    options: CallOptions,
    send: (pageToken: string | undefined, sent: Sent & { requestId: string }) => Answer<P>,
    entries: (page: P) => T[],
  ): AsyncGenerator<T, void, undefined> {
    let token: string | undefined;
    do {
      const page = await this.call(options, (requestId, sent) => send(token, { ...sent, requestId }));
      yield* entries(page);
      token = page.nextPageToken;
    } while (token);
  }
}

/**
 * The answers on a stream, which ends with whoever reads them: Connect, told nothing, would keep it open, and a timer
 * until its deadline.
 */
export async function* answers<R>(
  open: (signal: AbortSignal) => AsyncIterable<R>, signal?: AbortSignal,
): AsyncGenerator<R, void, undefined> {
  const ending = new AbortController();
  const end = () => ending.abort();
  signal?.addEventListener("abort", end);
  const iterator = open(ending.signal)[Symbol.asyncIterator]();
  try {
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value;
  } finally {
    signal?.removeEventListener("abort", end);
    end();
    await iterator.next().catch(() => undefined); // why it ended is known
  }
}

function outputOf<O>({ output, error }: Response<O>): O {
  if (output !== undefined) return output;
  throw failure(error?.errorCode ?? "INTERNAL", error?.message ?? "the service answered nothing");
}

const SEEN = "kgsvc-consistency-token"; // names what was written and read so far

/** The same transport; each call asks for errors as statuses, says who calls, and what it has seen before. */
function withHeaders(transport: Transport, token: string): Transport {
  let seen = "";
  const saw = (told: unknown) => (seen = typeof told === "string" && told ? told : seen);
  async function* noting<T extends object>(messages: AsyncIterable<T>, trailer: Headers): AsyncGenerator<T> {
    for await (const message of messages) {
      if ("consistencyToken" in message) saw(message.consistencyToken);
      yield message;
    }
    saw(trailer.get(SEEN));
  }
  const all = (given: HeadersInit | undefined): Headers => {
    const headers = new Headers(given);
    headers.set("kgsvc-errors", "status");
    if (token) headers.set("authorization", `Bearer ${token}`);
    if (seen) headers.set(SEEN, seen);
    return headers;
  };
  return {
    unary: async (method, signal, timeoutMs, given, input, context) => {
      const answer = await transport.unary(method, signal, timeoutMs, all(given), input, context);
      saw(answer.trailer.get(SEEN));
      return answer;
    },
    stream: async (method, signal, timeoutMs, given, input, context) => {
      const answer = await transport.stream(method, signal, timeoutMs, all(given), input, context);
      return { ...answer, message: noting(answer.message, answer.trailer) };
    },
  };
}
