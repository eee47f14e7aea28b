// Which sentences of a text a fact was read from, by the words that they share: the graph knows only the passage.
import type { Fact } from "./graph";

/** A part of a text, and the facts that it says. */
export interface Part {
  text: string;
  facts: string[]; // uuids; empty: none
}

const SHARED = 0.6; // of a fact's words that its sentence has, at least
const SENTENCE = /[^.!?。！？\n]*(?:[.!?。！？]+(?=\s|$|[^\x00-\x7f])|[.!?]|\n+|$)/gu;
const WORD = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]|[\p{L}\p{N}]+/gu;

function words(text: string): Set<string> {
  return new Set(text.toLowerCase().match(WORD) ?? []);
}

/** The text in parts, in order: sentences that say one of the facts, and what lies between them. */
export function saying(text: string, facts: Fact[]): Part[] {
  const sentences = split(text);
  const known = sentences.map(words);
  const told = sentences.map((): string[] => []);
  for (const fact of facts) {
    const place = best(words(fact.text), known);
    if (place !== null) told[place]!.push(fact.uuid);
  }
  const parts: Part[] = [];
  for (const [at, sentence] of sentences.entries()) {
    const last = parts.at(-1);
    const begin = told[at]!.length === 0 ? sentence.length : sentence.length - sentence.trimStart().length;
    if (last?.facts.length === 0) last.text += sentence.slice(0, begin);
    else if (begin > 0) parts.push({ text: sentence.slice(0, begin), facts: [] });
    if (begin < sentence.length) parts.push({ text: sentence.slice(begin), facts: told[at]! });
  }
  return parts;
}

/** Sentences with what follows them; a point within an abbreviation or a number does not end one. */
function split(text: string): string[] {
  const found: string[] = [];
  for (const piece of text.match(SENTENCE) ?? []) {
    if (piece === "") continue;
    const before = found.at(-1);
    if (before !== undefined && /[.!?]$/.test(before) && !/^\s/.test(piece)) found[found.length - 1] = before + piece;
    else found.push(piece);
  }
  return found;
}

function best(wanted: Set<string>, sentences: Set<string>[]): number | null {
  let [place, most] = [null as number | null, SHARED];
  for (const [at, sentence] of sentences.entries()) {
    const shared = [...wanted].filter((word) => sentence.has(word)).length / (wanted.size || 1);
    if (shared > most || (shared === most && place === null)) [place, most] = [at, shared];
  }
  return place;
}
