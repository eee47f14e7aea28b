// Where the service is, who calls, and when a call is tried again.
import type { Interceptor, Transport } from "@connectrpc/connect";
import type { KgsvcError } from "./errors.js";

const ADDRESS = "127.0.0.1:50051";
const LOOPBACK = ["127.", "localhost:", "[::1]:"];
const TRIES = 5;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

/** Time and chance; tests give their own. */
export interface Runtime {
  /** Milliseconds since some moment. */
  monotonic(): number;
  now(): Date;
  /** From 0 to 1. */
  chance(): number;
  newId(): string;
  /** Resolves after the time, or as soon as the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const RUNTIME: Runtime = {
  monotonic: () => performance.now(),
  now: () => new Date(),
  chance: Math.random,
  newId: () => Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(16)).join(""),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal?.addEventListener("abort", done);
      if (signal?.aborted) done();
    }),
};

/** How to reach a service. What is left out is read from the environment variables named. */
export interface ClientOptions {
  /** host:port; KGSVC_SERVER, else 127.0.0.1:50051. */
  server?: string | undefined;
  /** Who calls; KGSVC_TOKEN. */
  token?: string | undefined;
  /** Whether to use TLS; files of TLS imply it. */
  tls?: boolean | undefined;
  /** File (PEM) of the authorities to trust instead of the usual ones; KGSVC_TLS_CA. */
  tlsCa?: string | undefined;
  /** File (PEM) of the caller's own certificate; KGSVC_TLS_CERT. */
  tlsCert?: string | undefined;
  /** File (PEM) of its key; KGSVC_TLS_KEY. */
  tlsKey?: string | undefined;
  /** The name in the service's certificate, where that is not the address; KGSVC_TLS_NAME. */
  tlsName?: string | undefined;
  /** How long a call may take with all its attempts; 30,000. */
  timeoutMs?: number | undefined;
  /** Around every call, as of OpenTelemetry; a transport of one's own has its own. */
  interceptors?: Interceptor[] | undefined;
  /** Takes the place of the connection that the options above describe, as in a browser. */
  transport?: Transport | undefined;
  /** Time and chance. */
  runtime?: Runtime | undefined;
}

/** The address of the service, and what proves who calls. */
export type Connection = ReturnType<typeof connectionOf>;

/** What is given, and else what the environment says. Throws TypeError. */
export function connectionOf(given: ClientOptions, environ: Record<string, string | undefined>) {
  const tls = ["Ca", "Cert", "Key", "Name"] as const;
  const [ca, cert, key, name] = tls.map(
    (which) => given[`tls${which}`] || environ[`KGSVC_TLS_${which.toUpperCase()}`] || "",
  ) as [string, string, string, string];
  if (!cert !== !key) throw new TypeError("tlsCert and tlsKey must be given together");
  const made = {
    address: given.server || environ["KGSVC_SERVER"] || ADDRESS,
    token: given.token || environ["KGSVC_TOKEN"] || "",
    tls: Boolean(given.tls || ca || cert),
    interceptors: given.interceptors ?? [],
    ...{ ca, cert, key, name },
  };
  if (made.token && !made.tls && !given.transport && !LOOPBACK.some((start) => made.address.startsWith(start))) {
    throw new TypeError(`the token would travel to ${made.address} readable by all: use tls or tlsCa`);
  }
  return made;
}

/** When a call is tried again: after what may pass, for as long as it may take and not too often. */
export class Attempts {
  private readonly until: number;
  private failed = 0;

  constructor(
    private readonly runtime: Runtime,
    withinMs: number,
    private tries = TRIES,
  ) {
    this.until = runtime.monotonic() + withinMs;
  }

  /** Until the deadline; never quite nothing, since a call without time is one without a deadline. */
  get leftMs(): number {
    return Math.max(this.until - this.runtime.monotonic(), 1);
  }

  /** Something came of it: pauses begin anew, or there is `tries` more only. */
  progressed(tries = this.tries): void {
    this.failed = 0;
    this.tries = tries;
  }

  /** How long to wait before the next attempt. Throws the error when there is none. */
  pauseMs(error: KgsvcError): number {
    this.failed += 1;
    let pause = Math.min(FIRST_PAUSE_MS * 2 ** (this.failed - 1), LONGEST_PAUSE_MS);
    pause *= 0.5 + this.runtime.chance() / 2;
    pause += error.retryAfterMs ?? 0;
    if (!error.retryable || this.failed >= this.tries || pause >= this.leftMs) throw error;
    return pause;
  }
}
