// What can be added, and how it is sent: chat messages, texts, JSON.
import { create } from "@bufbuild/protobuf";
import { timestampFromDate, type Timestamp } from "@bufbuild/protobuf/wkt";
import {
  EpisodeItemSchema, MessageSchema, RoleType, Source, type EpisodeItem, type Message,
} from "./gen/kgsvc/v1/types_pb.js";

const ROLES: Record<string, RoleType> = { user: RoleType.USER, assistant: RoleType.ASSISTANT, system: RoleType.SYSTEM };
const SILENT = new Set(["system", "developer", "tool", "function"]); // instructions, and what programs answered
const TEXTS = new Set(["text", "input_text", "output_text"]);

/** A part of a message; those without text are left out. */
export type ContentPart = string | { readonly type: string; readonly text?: string };

/** What is known of a message or a note besides its text. */
interface About {
  /** Of a message: who wrote it. */
  readonly name?: string | undefined;
  readonly uuid?: string | undefined;
  readonly sourceDescription?: string | undefined;
  readonly sourceUrl?: string | undefined;
}

/** A message of a chat as the OpenAI API takes it; instructions, output of tools and empty ones are not sent. */
export interface ChatMessage extends About {
  readonly role: string;
  readonly content?: string | readonly ContentPart[] | null;
  /** When; a number counts seconds since 1970. */
  readonly timestamp?: Date | string | number | undefined;
}

/** A text, or anything that is JSON, and when what it says was the case. */
export interface Note extends About {
  readonly body: unknown;
  readonly time?: Date | undefined;
}

/** Text is a note. */
export type Addable = string | ChatMessage | Note;

/** An item as it is sent. */
export type Sent = { case: "message"; value: Message } | { case: "episode"; value: EpisodeItem };

/** As the contract carries times. Throws RangeError for a date that is none. */
export function timestamp(time: Date): Timestamp {
  if (Number.isNaN(time.getTime())) throw new RangeError("the time is an invalid Date");
  return timestampFromDate(time);
}

/** Makes items of what callers have. `time` is that of the first which tells none. */
export class Converter {
  private next: number;

  constructor(time: Date) {
    this.next = time.getTime();
  }

  /** As it is sent; undefined: nobody said it (instructions, output of tools, empty messages). Throws TypeError. */
  sent(given: Addable): Sent | undefined {
    if (typeof given === "string") return this.note({ body: given });
    if (typeof given === "object" && given !== null) {
      if ("role" in given) return this.message(given);
      if ("body" in given) return this.note(given);
    }
    throw new TypeError("cannot be added: give text, a message {role, content} or a note {body}");
  }

  private at(time: Date | undefined): Timestamp {
    return timestamp(time ?? new Date(this.next++)); // a millisecond apart: they keep their order
  }

  private message(said: ChatMessage): Sent | undefined {
    const content = textOf(said.content).trim();
    if (SILENT.has(said.role) || !content) return undefined;
    const roleType = ROLES[said.role];
    if (roleType === undefined) throw new TypeError(`role must be one of ${Object.keys(ROLES).join(", ")}`);
    const when = typeof said.timestamp === "number" ? said.timestamp * 1_000 : said.timestamp;
    const time = this.at(when === undefined ? undefined : new Date(when));
    const { uuid, name: role, sourceDescription, sourceUrl } = said;
    const init = { roleType, role, content, timestamp: time, uuid, sourceDescription, sourceUrl };
    return { case: "message", value: create(MessageSchema, init) };
  }

  private note(note: Note): Sent {
    const isText = typeof note.body === "string";
    const { uuid, name, sourceDescription, sourceUrl } = note;
    const init = {
      ...{ uuid, name, sourceDescription, sourceUrl, referenceTime: this.at(note.time) },
      source: isText ? Source.TEXT : Source.JSON,
      body: isText ? (note.body as string) : JSON.stringify(note.body),
    };
    return { case: "episode", value: create(EpisodeItemSchema, init) };
  }
}

/** The texts of a content: of several parts those that are text. */
function textOf(content: ChatMessage["content"]): string {
  if (typeof content === "string") return content;
  const texts = (content ?? []).map((part) =>
    typeof part === "string" ? part : TEXTS.has(part.type) ? part.text : undefined,
  );
  return texts.filter((text) => text !== undefined).join("\n");
}
