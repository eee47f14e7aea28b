// What a stream has sent or will send and has no answer for yet: bounded, and sent again if a stream breaks. It waits
// for nothing and talks to nobody.
import { failure } from "./errors.js";
import { Status } from "./gen/kgsvc/v1/envelope_pb.js";
import type { StreamEpisodesResponse } from "./gen/kgsvc/v1/ingestion_pb.js";
import type { Sent } from "./items.js";
import type { Report } from "./values.js";

const ITEMS = 1_024;
const BYTES = 8 * 1024 * 1024;
const EMPTY_BYTES = 256; // of an item besides its text

/** An item on its way. */
export interface Request {
  groupId: string;
  clientRef: string;
  item: Sent;
}

/**
 * Items in the order given, until each is answered. Their clientRef is their number.
 *
 * The first item on each stream goes alone: with the answer to it a refusal of the whole stream is told, and is not
 * lost behind what is being sent.
 */
export class Window {
  readonly report: Report = { stored: 0, duplicates: 0, refused: [], receipts: [] };
  private readonly waiting: Request[] = [];
  private bytes = 0;
  private given = 0;
  private sent = 0; // of those that wait: on the stream that is open
  private doubtful = 0; // of those that wait: sent on a stream that broke, hence perhaps stored
  private answeredHere = 0;
  private closed = false;

  constructor(private readonly mostItems = ITEMS, private readonly mostBytes = BYTES) {}

  /** How many items are dealt with. */
  get answered(): number {
    return this.given - this.waiting.length;
  }

  /** Whether one more may be put. */
  get hasRoom(): boolean {
    return this.waiting.length < this.mostItems && this.bytes < this.mostBytes;
  }

  /** Whether `next` has an item for the open stream. */
  get sends(): boolean {
    return this.sent < (this.answeredHere > 0 ? this.waiting.length : Math.min(1, this.waiting.length));
  }

  /** Whether nothing more will be sent on the open stream. */
  get ends(): boolean {
    return this.closed && this.sent === this.waiting.length;
  }

  /** Whether everything is answered and nothing more comes. */
  get done(): boolean {
    return this.closed && this.waiting.length === 0;
  }

  /** One more item. */
  put(groupId: string, item: Sent): void {
    this.waiting.push({ groupId, clientRef: String(this.given), item });
    this.given += 1;
    this.bytes += size(item);
  }

  /** No more items come. */
  close(): void {
    this.closed = true;
  }

  /** The item to send now (`sends`). */
  next(): Request {
    this.sent += 1;
    return this.waiting[this.sent - 1]!;
  }

  /** The service has dealt with the first that waits. Throws ServiceFault where it means another one. */
  answer(answer: StreamEpisodesResponse): void {
    const [first] = this.waiting;
    if (first === undefined || this.sent === 0 || answer.clientRef !== first.clientRef) {
      throw failure("INTERNAL", `the service answered item ${answer.clientRef} out of turn`);
    }
    this.waiting.shift();
    this.bytes -= size(first.item);
    this.count(Number(first.clientRef), answer);
    this.sent -= 1;
    this.answeredHere += 1;
    this.doubtful = Math.max(0, this.doubtful - 1);
  }

  /** A new stream begins: everything that is not answered is sent again. */
  reopened(): void {
    this.doubtful = Math.max(this.doubtful, this.sent);
    this.sent = this.answeredHere = 0;
  }

  private count(index: number, { status, error, duplicate, receiptId }: StreamEpisodesResponse): void {
    const { report } = this;
    if (status === Status.ERROR) {
      report.refused.push({ index, code: error?.errorCode ?? "INTERNAL", message: error?.message ?? "" });
    } else if (duplicate && this.doubtful === 0) {
      report.duplicates += 1;
    } else {
      report.stored += 1; // what was sent before may be a duplicate of itself
    }
    if (receiptId && receiptId !== report.receipts.at(-1)) report.receipts.push(receiptId);
  }
}

/** In memory, where a character takes two bytes at most. */
function size(item: Sent): number {
  return EMPTY_BYTES + 2 * (item.case === "message" ? item.value.content : item.value.body).length;
}
