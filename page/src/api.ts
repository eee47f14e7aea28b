// Calls of the service that serves this page: JSON there and back, and what WatchGroup tells as it comes.
import type { Input, Output, Path, WatchGroupOutput } from "./contract";

/** An error as the service tells it. */
export class Refused extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

const TOKEN = "kgsvc-token";

/** Who calls; kept until the tab is closed. */
export function setToken(token: string): void {
  sessionStorage.setItem(TOKEN, token);
}

function headers(more: Record<string, string> = {}): Record<string, string> {
  const token = sessionStorage.getItem(TOKEN);
  const who: Record<string, string> = token ? { authorization: `Bearer ${token}` } : {};
  return { "content-type": "application/json", ...who, ...more };
}

async function posted(path: string, input: unknown, more: Record<string, string>, signal?: AbortSignal): Promise<Response> {
  const given = { method: "POST", headers: headers(more), body: JSON.stringify({ input }), signal: signal ?? null };
  let answer: Response;
  try {
    answer = await fetch(`.${path}`, given);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Refused("unavailable", "The service does not answer.");
  }
  if (!answer.ok) throw refusal(await answer.json().catch(() => ({})), answer.status);
  return answer;
}

function refusal(told: { code?: string; message?: string }, status: number): Refused {
  return new Refused(told.code ?? `HTTP ${status}`, told.message ?? "The service gave no reason.");
}

/** The output of a method. Throws Refused. */
export async function call<P extends Path>(path: P, input: Input<P>, signal?: AbortSignal): Promise<Output<P>> {
  const answer = (await (await posted(path, input, {}, signal)).json()) as { output?: Output<P> };
  return answer.output ?? ({} as Output<P>);
}

const PAGE = 1_000;

/** All pages of a listing, up to `most` entries. Throws Refused. */
export async function listed<P extends Path, K extends keyof Output<P>>(
  path: P,
  input: Input<P>,
  key: K,
  most = 10_000,
): Promise<NonNullable<Output<P>[K]>> {
  const found: unknown[] = [];
  let token = "";
  do {
    const page: Output<P> = await call(path, { ...input, pageSize: PAGE, ...(token && { pageToken: token }) });
    found.push(...((page[key] as unknown[] | undefined) ?? []));
    token = (page as { nextPageToken?: string }).nextPageToken ?? "";
  } while (token && found.length < most);
  return found as NonNullable<Output<P>[K]>;
}

/** What changes in a group, from a cursor on, until `signal`. Throws Refused. */
export async function* watched(groupId: string, cursor: string, signal: AbortSignal): AsyncGenerator<WatchGroupOutput> {
  const input = { groupId, ...(cursor && { cursor }) };
  const more = { accept: "text/event-stream" };
  const answer = await posted("/kgsvc.v1.RetrievalService/WatchGroup", input, more, signal);
  for await (const [kind, data] of events(answer.body!)) {
    const told = JSON.parse(data);
    if (kind === "error") throw refusal(told, 200);
    if (kind === "answer") yield told.output as WatchGroupOutput;
  }
}

async function* events(body: ReadableStream<Uint8Array>): AsyncGenerator<[string, string]> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let held = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (held + value).split("\n\n");
    held = parts.pop()!;
    for (const part of parts) {
      const [kind = "", data = ""] = part.split("\n");
      yield [kind.slice("event: ".length), data.slice("data: ".length)];
    }
  }
}
