// What differs between two texts: by chunks that both have, and by words between these.
import type { DocumentChunk } from "./contract";

export interface Piece {
  text: string;
  kind: "same" | "gone" | "new";
}

/** A stretch of two texts, side by side. */
export interface Stretch {
  before: string;
  after: string;
}

const CELLS = 4_000_000; // of the table by which words are compared; larger stretches are marked whole

/** The part of a chunk that the chunk before does not have; offsets count characters, not UTF-16 units. */
export function own(chunk: DocumentChunk): string {
  return [...(chunk.content ?? "")].slice(Number(chunk.ownStart ?? 0) - Number(chunk.start ?? 0)).join("");
}

/** Both texts in stretches, in order: chunks that both have stand beside each other. */
export function stretches(before: DocumentChunk[], after: DocumentChunk[]): Stretch[] {
  const found: Stretch[] = [];
  let [left, right] = [0, 0];
  while (left < before.length || right < after.length) {
    const [toLeft, toRight] = nextShared(before, after, left, right);
    const texts = { before: joined(before, left, toLeft), after: joined(after, right, toRight) };
    if (texts.before || texts.after) found.push(texts);
    [left, right] = [toLeft, toRight];
    if (left < before.length && right < after.length) found.push({ before: own(before[left++]!), after: own(after[right++]!) });
  }
  return found;
}

function joined(chunks: DocumentChunk[], from: number, to: number): string {
  return chunks.slice(from, to).map(own).join("");
}

/** Where both go on with the same chunk; the ends where they never do. */
function nextShared(before: DocumentChunk[], after: DocumentChunk[], left: number, right: number): [number, number] {
  const places = new Map<string, number>();
  for (let at = after.length - 1; at >= right; at -= 1) places.set(after[at]!.chunkId!, at);
  for (let at = left; at < before.length; at += 1) {
    const place = places.get(before[at]!.chunkId!);
    if (place !== undefined) return [at, place];
  }
  return [before.length, after.length];
}

/** Two texts as pieces: those of the one that are gone, those of the other that are new, and what both have. */
export function compared(before: string, after: string): Piece[] {
  if (before === after) return before ? [{ text: before, kind: "same" }] : [];
  const [one, other] = [words(before), words(after)];
  let head = 0;
  while (head < one.length && head < other.length && one[head] === other[head]) head += 1;
  let tail = 0;
  while (tail < one.length - head && tail < other.length - head && one.at(-1 - tail) === other.at(-1 - tail)) tail += 1;
  const pieces: Piece[] = [];
  push(pieces, "same", one.slice(0, head));
  between(pieces, one.slice(head, one.length - tail), other.slice(head, other.length - tail));
  push(pieces, "same", one.slice(one.length - tail));
  return pieces;
}

function words(text: string): string[] {
  return text.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? [];
}

function push(pieces: Piece[], kind: Piece["kind"], parts: string[]): void {
  if (parts.length === 0) return;
  const last = pieces.at(-1);
  if (last?.kind === kind) last.text += parts.join("");
  else pieces.push({ text: parts.join(""), kind });
}

/** By the longest common run of words. */
function between(pieces: Piece[], one: string[], other: string[]): void {
  const wide = other.length + 1;
  if (one.length * wide > CELLS) {
    push(pieces, "gone", one);
    push(pieces, "new", other);
    return;
  }
  const common = new Uint32Array((one.length + 1) * wide);
  for (let i = one.length - 1; i >= 0; i -= 1) {
    for (let j = other.length - 1; j >= 0; j -= 1) {
      const at = i * wide + j;
      common[at] = one[i] === other[j] ? common[at + wide + 1]! + 1 : Math.max(common[at + wide]!, common[at + 1]!);
    }
  }
  let [i, j] = [0, 0];
  while (i < one.length || j < other.length) {
    const at = i * wide + j;
    if (i < one.length && j < other.length && one[i] === other[j]) {
      push(pieces, "same", [one[i++]!]);
      j += 1;
    } else if (i < one.length && (j === other.length || common[at + wide]! >= common[at + 1]!)) push(pieces, "gone", [one[i++]!]);
    else push(pieces, "new", [other[j++]!]);
  }
}
