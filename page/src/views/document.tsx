// A document: its text with the sentences that facts cite, and the facts beside them; or two of its texts side by side.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { call } from "../api";
import type { Document, DocumentChunk, DocumentRevision } from "../contract";
import { own } from "../differences";
import type { Fact, Graph } from "../graph";
import { Failure, FactLine, many, Nothing, useLoaded, Waiting } from "../parts";
import { to } from "../route";
import { saying } from "../sentences";
import { at, shown } from "../times";
import { Revisions } from "./revisions";

const MOST = 500; // chunks that are shown

interface Read {
  document: Document;
  revisions: DocumentRevision[];
  chunks: DocumentChunk[];
  more: boolean;
}

/** A document with the chunks of its present text, or of that of a revision. Throws Refused. */
export async function read(groupId: string, documentId: string, signal: AbortSignal, revision?: number): Promise<Read> {
  const chunks: DocumentChunk[] = [];
  let token = "";
  for (;;) {
    const asked = { groupId, documentId, includeChunks: true, ...(revision && { revision }), ...(token && { pageToken: token }) };
    const page = await call("/kgsvc.v1.RetrievalService/GetDocument", asked, signal);
    chunks.push(...(page.chunks ?? []));
    token = page.nextPageToken ?? "";
    if (!token || chunks.length >= MOST) return { document: page.document!, revisions: page.revisions ?? [], chunks, more: token !== "" };
  }
}

/** The pages on which a chunk stands, unless the one before stands there too. */
function pages(chunk: DocumentChunk, before: DocumentChunk | undefined): string {
  const last = chunk.lastPage ?? chunk.page;
  if (chunk.page === undefined || (before?.page === chunk.page && (before.lastPage ?? before.page) === last)) return "";
  return last === chunk.page ? `page ${chunk.page}` : `pages ${chunk.page} to ${last}`;
}

interface Props {
  graph: Graph;
  documentId: string;
  compare: boolean; // two of its texts instead of one
}

export function DocumentView({ graph, documentId, compare }: Props) {
  const { value, error } = useLoaded((signal) => read(graph.groupId, documentId, signal), [graph.groupId, documentId]);
  if (error) return <Failure error={error} />;
  if (value === undefined) return <Waiting />;
  const { document, revisions } = value;
  const ways: [boolean, string, Record<string, string>][] = [
    [false, "Text and facts", {}],
    [true, revisions.length > 1 ? `Revisions (${revisions.length})` : "Revisions", { show: "revisions" }],
  ];
  return (
    <article>
      <h1>{document.title || document.documentId}</h1>
      <p class="small">
        revision {document.revision} · {Number(document.chars ?? 0).toLocaleString("en")} characters in {many(document.chunks ?? 0, "chunk")} · of{" "}
        {shown(at(document.referenceTime))}
        {document.author && ` · ${document.author}`}
        {document.sourceUrl && ` · ${document.sourceUrl}`}
      </p>
      <nav class="ways" aria-label="What is shown of the document">
        {ways.map(([revised, title, asked]) => (
          <a key={title} href={to(graph.groupId, "document", documentId, asked)} aria-current={revised === compare ? "true" : undefined}>{title}</a>
        ))}
      </nav>
      {compare ? (
        <Revisions graph={graph} documentId={documentId} revisions={revisions} present={document.revision ?? 1} />
      ) : (
        <Text graph={graph} chunks={value.chunks} more={value.more} />
      )}
    </article>
  );
}

function Text({ graph, chunks, more }: { graph: Graph; chunks: DocumentChunk[]; more: boolean }) {
  const [open, setOpen] = useState<string | null>(null);
  return (
    <>
      {!graph.current && <Waiting>Reading the graph …</Waiting>}
      {chunks.length === 0 && <Nothing>It has no text.</Nothing>}
      <div class="document">
        {chunks.map((chunk, index) => (
          <Passage key={`${chunk.chunkOrderIndex}`} graph={graph} chunk={chunk} pages={pages(chunk, chunks[index - 1])} open={open} choose={setOpen} />
        ))}
      </div>
      {more && <Nothing>The text goes on; its first {MOST} chunks are shown.</Nothing>}
    </>
  );
}

interface PassageProps {
  graph: Graph;
  chunk: DocumentChunk;
  pages: string;
  open: string | null; // a fact
  choose: (fact: string | null) => void;
}

function Passage({ graph, chunk, pages, open, choose }: PassageProps) {
  const facts = graph.factsFrom(chunk.chunkId!);
  const parts = useMemo(() => saying(own(chunk), facts), [chunk, facts.map((fact) => fact.uuid + fact.text).join()]);
  const marked = useRef<HTMLElement>(null);
  const chosen = parts.findIndex((part) => open !== null && part.facts.includes(open));
  useEffect(() => marked.current?.scrollIntoView({ block: "nearest" }), [chosen]);
  const said = parts.flatMap((part) => part.facts); // in the order of the text
  const place = (fact: Fact) => (said.includes(fact.uuid) ? said.indexOf(fact.uuid) : said.length);
  const ordered = [...facts].sort((one, other) => place(one) - place(other));
  return (
    <section class={facts.length > 0 ? "passage cited" : "passage"}>
      <div class="text">
        {pages && <span class="page">{pages}</span>}
        {parts.map((part, index) =>
          part.facts.length === 0 ? part.text : (
            <mark key={index} ref={index === chosen ? marked : null} class={index === chosen ? "chosen" : ""} onClick={() => choose(part.facts[0]!)}>
              {part.text}
            </mark>
          ),
        )}
      </div>
      <ul class="plain margin">
        {ordered.map((fact) => (
          <Cited key={fact.uuid} graph={graph} fact={fact} found={said.includes(fact.uuid)} open={fact.uuid === open} choose={choose} />
        ))}
      </ul>
    </section>
  );
}

interface CitedProps {
  graph: Graph;
  fact: Fact;
  found: boolean; // a sentence that says it
  open: boolean;
  choose: (fact: string | null) => void;
}

function Cited({ graph, fact, found, open, choose }: CitedProps) {
  return (
    <li class={open ? "chosen" : ""}>
      <FactLine graph={graph} fact={fact} />
      {found && (
        <button type="button" class="link small" aria-pressed={open} aria-label={`Mark in the text: ${fact.text}`} onClick={() => choose(open ? null : fact.uuid)}>
          Mark
        </button>
      )}
    </li>
  );
}
