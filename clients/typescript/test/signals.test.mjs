// What ends calls, streams and followers early, against a service in this process that answers what it is told. Its own
// timers outlive calls that were ended: `npm test` does not wait for them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Code, ConnectError, createRouterTransport } from "@connectrpc/connect";
import { Client, AccessDenied, DeadlineExceeded, Unreachable } from "kgsvc-client";
import { IngestionService } from "../dist/esm/gen/kgsvc/v1/ingestion_pb.js";
import { RetrievalService } from "../dist/esm/gen/kgsvc/v1/retrieval_pb.js";

/** Resolves when the signal is aborted. */
const ended = (signal) => new Promise((resolve) => signal.addEventListener("abort", resolve));

/** A group of a service with these methods. */
function group({ streamEpisodes, watchGroup }, options = {}) {
  const transport = createRouterTransport((router) => {
    if (streamEpisodes) router.service(IngestionService, { streamEpisodes });
    if (watchGroup) router.service(RetrievalService, { watchGroup });
  });
  return new Client({ transport, ...options }).group("g");
}

/** Acknowledges on its first stream what `first` does, and nothing on later ones. */
const once = (first) => {
  let streams = 0;
  return (requests, context) => (streams++ === 0 ? first : silent)(requests, context);
};

/** Acknowledges items until it has `enough`. */
const acknowledging = (enough, then) =>
  async function* (requests, context) {
    let number = 0;
    for await (const { clientRef } of requests) {
      yield { clientRef, receiptId: "r" };
      number += 1;
      if (number === enough) yield* then(requests, context);
    }
  };

const silent = async function* (_, context) {
  await ended(context.signal);
};

test("a signal ends a stream whose items do not come, and the items are told", async () => {
  const controller = new AbortController();
  let returned = false;
  const items = {
    [Symbol.asyncIterator]: () => ({
      next: () => new Promise(() => setImmediate(() => controller.abort(new Error("enough")))),
      return: async () => ((returned = true), { done: true, value: undefined }),
    }),
  };
  const memory = group({ streamEpisodes: acknowledging(0) });
  await assert.rejects(memory.stream(items, { signal: controller.signal }), /enough/);
  assert.ok(returned);
});

test("a refusal is told while no item comes", async () => {
  const refused = async function* () {
    throw new ConnectError("revoked", Code.Unauthenticated);
  };
  const items = async function* () {
    yield "one";
    await new Promise(() => {});
  };
  await assert.rejects(group({ streamEpisodes: acknowledging(1, refused) }).stream(items()), AccessDenied);
});

test("items are read no faster than they are answered, and a silent service is told", async () => {
  let read = 0;
  const items = (function* () {
    for (; ; read += 1) yield `item ${read}`;
  })();
  const memory = group({ streamEpisodes: once(acknowledging(3, silent)) }, { timeoutMs: 200 });
  await assert.rejects(memory.stream(items), DeadlineExceeded);
  assert.equal(read, 1_024 + 3);
});

test("large items are read no faster either", async () => {
  let read = 0;
  const items = (function* () {
    for (; ; read += 1) yield "x".repeat(2 ** 20);
  })();
  const memory = group({ streamEpisodes: once(acknowledging(1, silent)) }, { timeoutMs: 200 });
  await assert.rejects(memory.stream(items), DeadlineExceeded);
  assert.equal(read, 4 + 1);
});

test("a stream that is silent is left for the next, which goes on", async () => {
  const streams = [];
  const streamEpisodes = (requests, context) => {
    streams.push(ended(context.signal));
    return acknowledging(streams.length === 1 ? 2 : 0, silent)(requests, context);
  };
  const { stored } = await group({ streamEpisodes }, { timeoutMs: 3_000 }).stream(["one", "two", "three"]);
  assert.equal(stored, 3);
  assert.equal(streams.length, 2);
  await streams[0];
});

test("a client that is closed meanwhile is told as such, and not as a silent service", async () => {
  const transport = createRouterTransport((router) =>
    router.service(IngestionService, { streamEpisodes: acknowledging(1, silent) }));
  const client = new Client({ transport, timeoutMs: 300 });
  const streaming = client.group("g").stream(["one", "two"]);
  client.close();
  await assert.rejects(streaming, /closed/);
});

test("a follower ends with its signal and with its loop, and its stream with it", async () => {
  const streams = [];
  const watchGroup = async function* (_, context) {
    streams.push(ended(context.signal));
    yield { output: { cursor: "1", rev: 1n, reset: true } };
    await ended(context.signal);
  };
  const memory = group({ watchGroup });
  for await (const { cursor, rev } of memory.follow()) {
    assert.deepEqual([cursor, rev], ["1", 1]);
    break;
  }
  await streams[0];
  const controller = new AbortController();
  const following = (async () => {
    for await (const _ of memory.follow(undefined, { signal: controller.signal })) controller.abort(new Error("stop"));
  })();
  await assert.rejects(following, /stop/);
  await streams[1];
});

test("a follower goes on from the last cursor where its stream broke", async () => {
  const cursors = [];
  const watchGroup = async function* ({ input }) {
    cursors.push(input.cursor);
    yield { output: { cursor: String(cursors.length) } };
    throw new ConnectError("reset", Code.Aborted);
  };
  const slept = [];
  const runtime = {
    monotonic: () => 0, now: () => new Date(), chance: () => 1, newId: () => "id", sleep: async (ms) => slept.push(ms),
  };
  for await (const { cursor } of group({ watchGroup }, { runtime }).follow("0")) if (cursor === "3") break;
  assert.deepEqual(cursors, ["0", "1", "2"]);
  assert.deepEqual(slept, [100, 100]);
});

test("pauses grow, and nobody waits longer than there is time", async () => {
  const slept = [];
  let now = 0;
  const runtime = {
    monotonic: () => now, now: () => new Date(), chance: () => 1, newId: () => "id",
    sleep: async (ms) => ((now += ms), slept.push(ms)),
  };
  const watchGroup = async function* () {
    throw new ConnectError("away", Code.Unavailable);
  };
  const following = group({ watchGroup }, { runtime }).follow();
  await assert.rejects(following.next(), Unreachable);
  assert.deepEqual(slept.slice(0, 8), [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
  assert.ok(now <= 600_000 && now > 590_000);
});

test("a token does not travel readable by all", () => {
  assert.throws(() => new Client({ server: "memory.example:443", token: "kgsvc_secret" }), (error) => {
    assert.match(error.message, /readable by all/);
    return !error.message.includes("kgsvc_secret");
  });
});
