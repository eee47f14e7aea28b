// The smallest use of kgsvc from TypeScript: ingest an episode and a message, wait until both are in the graph,
// and find what they say.
//
//   npm run build && npm run example HOST:PORT
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { createClient, type Client } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { Status, type Error as KgsvcError } from "./gen/kgsvc/v1/envelope_pb.js";
import { IngestionService } from "./gen/kgsvc/v1/ingestion_pb.js";
import { RetrievalService } from "./gen/kgsvc/v1/retrieval_pb.js";
import { ItemState, RoleType, Source } from "./gen/kgsvc/v1/types_pb.js";

const group = "example-typescript";
const referenceTime = timestampFromDate(new Date("2025-01-15T09:00:00Z"));

function expect(operation: string, status: Status, expected: Status, error?: KgsvcError): void {
  if (status !== expected) {
    throw new Error(`${operation}: ${Status[status]} ${error?.errorCode ?? ""} ${error?.message ?? ""}`);
  }
}

/** Returns the receipt. The uuid makes it safe to send again. */
async function addEpisode(ingestion: Client<typeof IngestionService>): Promise<string> {
  const response = await ingestion.addEpisodes({
    input: {
      groupId: group,
      items: [
        { uuid: "example-typescript-episode", source: Source.TEXT, body: "Alice works at Acme.", referenceTime },
      ],
    },
  });
  expect("AddEpisodes", response.status, Status.ACCEPTED, response.error);
  return response.output?.receiptId ?? "";
}

/** Returns the receipt of one message sent and acknowledged on a stream. */
async function streamMessage(ingestion: Client<typeof IngestionService>): Promise<string> {
  async function* items() {
    const content = "I live in Berlin.";
    const message = {
      uuid: "example-typescript-message", roleType: RoleType.USER, role: "Bob", content, timestamp: referenceTime,
    };
    yield { groupId: group, clientRef: "message-1", item: { case: "message" as const, value: message } };
  }
  const receipts: string[] = [];
  for await (const ack of ingestion.streamEpisodes(items())) {
    expect("StreamEpisodes", ack.status, Status.ACCEPTED, ack.error);
    receipts.push(ack.receiptId);
  }
  if (receipts.length !== 1) {
    throw new Error(`StreamEpisodes acknowledged ${receipts.length} items instead of 1`);
  }
  return receipts[0] ?? "";
}

/** Follows a receipt until its items are terminal, and fails unless all are completed. */
async function wait(ingestion: Client<typeof IngestionService>, receiptId: string): Promise<void> {
  const states = new Map<string, ItemState>();
  let done = false;
  for await (const response of ingestion.watchReceipt({ input: { receiptId } })) {
    expect("WatchReceipt", response.status, Status.OK, response.error);
    for (const item of response.output?.items ?? []) {
      states.set(item.uuid, item.state);
    }
    done = response.output?.done ?? false;
  }
  if (!done || states.size === 0) {
    throw new Error(`the watch of receipt ${receiptId} ended early`);
  }
  for (const [uuid, state] of states) {
    if (state !== ItemState.COMPLETED) {
      throw new Error(`item ${uuid} ended as ${ItemState[state]}`);
    }
    console.log(`item ${uuid} is ${ItemState[state]}`);
  }
}

/** Prints the facts found and fails unless one of them says what is expected. */
async function search(retrieval: Client<typeof RetrievalService>, query: string, expected: string): Promise<void> {
  const response = await retrieval.searchFacts({ input: { groupIds: [group], query } });
  expect("SearchFacts", response.status, Status.OK, response.error);
  const facts = response.output?.facts ?? [];
  for (const fact of facts) {
    console.log(`${query} -> ${fact.fact} [${fact.name}] told by ${fact.episodes.join(", ")}`);
  }
  if (!facts.some((fact) => fact.fact.includes(expected))) {
    throw new Error(`no fact found for "${query}" names ${expected}`);
  }
}

async function main(target: string): Promise<void> {
  const transport = createGrpcTransport({ baseUrl: `http://${target}`, defaultTimeoutMs: 60_000 });
  const ingestion = createClient(IngestionService, transport);
  const retrieval = createClient(RetrievalService, transport);
  const receipts = [await addEpisode(ingestion), await streamMessage(ingestion)];
  for (const receiptId of receipts) {
    await wait(ingestion, receiptId);
  }
  await search(retrieval, "Where does Alice work?", "Acme");
  await search(retrieval, "Where does Bob live?", "Berlin");
}

const [target, ...rest] = process.argv.slice(2);
if (target === undefined || rest.length > 0) {
  console.error("usage: example HOST:PORT");
  process.exit(2);
}
await main(target);
