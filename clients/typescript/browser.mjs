// A program as browsers run it, against a live service: `browser.mjs PROTOCOL BASE_URL`, with the package as they get it
// (node --conditions=browser) and a transport that has fetch alone.
import assert from "node:assert/strict";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web";
import { Client, NotFound } from "kgsvc-client";

const [protocol, baseUrl] = process.argv.slice(2);
const create = { connect: createConnectTransport, "grpc-web": createGrpcWebTransport }[protocol];
const memory = new Client({ transport: create({ baseUrl }) }).group(`browser-${protocol}-${crypto.randomUUID()}`);

const receipt = await memory.add([{ role: "user", name: "Alice", content: "I work at Acme." }], { wait: true });
assert.equal(receipt.items.length, 1);
const { facts } = await memory.search("Where does Alice work?");
assert.deepEqual(facts.map((fact) => [fact.source, fact.target]), [["Alice", "Acme"]]);
assert.match(await memory.context("Where does Alice work?"), /I work at Acme/);
const listed = [];
for await (const episode of memory.episodes()) listed.push(episode.body);
assert.deepEqual(listed, ["Alice(user): I work at Acme."]);
const told = [];
for await (const changes of memory.follow()) {
  told.push(...changes.facts);
  if (changes.current) break;
}
assert.deepEqual(told.map((fact) => fact.text), facts.map((fact) => fact.text));
const added = await memory.addDocument("Dora works at Lumen Labs.", { id: "staff" });
assert.equal((await memory.document(added.id, { wait: true })).state, "processed");
await assert.rejects(memory.document("none"), (error) => error instanceof NotFound && error.requestId !== "");
const controller = new AbortController();
const following = memory.follow(undefined, { signal: controller.signal });
await following.next();
controller.abort(new Error("enough"));
await assert.rejects(async () => { for await (const _ of following); }, /enough/);
console.log("done");
