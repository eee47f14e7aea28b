// Two texts of a document side by side: what went, what came, what stayed.
import { useMemo, useState } from "preact/hooks";
import type { DocumentRevision } from "../contract";
import { compared, type Piece, stretches } from "../differences";
import type { Graph } from "../graph";
import { Failure, Nothing, useLoaded, Waiting } from "../parts";
import { at, shown } from "../times";
import { read } from "./document";

const FOLDED = 600; // characters of a stretch that did not change, before it is folded

interface Props {
  graph: Graph;
  documentId: string;
  revisions: DocumentRevision[]; // in order
  present: number;
}

export function Revisions({ graph, documentId, revisions, present }: Props) {
  const former = revisions.filter((each) => each.revision !== present && each.readable);
  const [chosen, setChosen] = useState(former.at(-1)?.revision);
  if (revisions.length < 2) return <Nothing>It has had one text alone.</Nothing>;
  const unread = revisions.filter((each) => !each.readable).map((each) => each.revision);
  return (
    <section aria-label="Revisions">
      {former.length > 0 && (
        <p>
          <label>
            Revision{" "}
            <select value={chosen} onChange={(event) => setChosen(Number(event.currentTarget.value))}>
              {former.map((each) => <option key={each.revision} value={each.revision}>{named(each)}</option>)}
            </select>
          </label>{" "}
          beside the present one, {named(revisions.find((each) => each.revision === present)!)}
        </p>
      )}
      {unread.length > 0 && <p class="small">Not kept: {unread.join(", ")} (a text that never counted, or one before the latest hundred).</p>}
      {chosen !== undefined && <Beside graph={graph} documentId={documentId} former={chosen} present={present} />}
    </section>
  );
}

function named(revision: DocumentRevision): string {
  return `${revision.revision} · ${shown(at(revision.referenceTime))}`;
}

function Beside({ graph, documentId, former, present }: { graph: Graph; documentId: string; former: number; present: number }) {
  const { groupId } = graph;
  const { value, error } = useLoaded(
    (signal) => Promise.all([former, present].map((each) => read(groupId, documentId, signal, each))),
    [groupId, documentId, former, present],
  );
  const rows = useMemo(
    () => value && stretches(value[0]!.chunks, value[1]!.chunks).map((each) => compared(each.before, each.after)),
    [value],
  );
  if (error) return <Failure error={error} />;
  if (rows === undefined) return <Waiting />;
  const changed = rows.filter((pieces) => pieces.some((piece) => piece.kind !== "same")).length;
  return (
    <>
      <p class="small" role="status">{changed === 0 ? "Both say the same." : "What went is struck through on the left, what came is underlined on the right."}</p>
      <div class="beside">
        <h2>Revision {former}</h2>
        <h2>Revision {present}</h2>
        {rows.map((pieces, index) => (
          <Row key={index} pieces={pieces} />
        ))}
      </div>
      {value!.some((each) => each.more) && <Nothing>The texts go on; only their beginnings are compared.</Nothing>}
    </>
  );
}

function Row({ pieces }: { pieces: Piece[] }) {
  const [open, setOpen] = useState(false);
  const length = pieces.reduce((sum, piece) => sum + piece.text.length, 0);
  if (!open && length > FOLDED && pieces.every((piece) => piece.kind === "same")) {
    return (
      <p class="folded">
        <button type="button" class="link" onClick={() => setOpen(true)}>{length.toLocaleString("en")} characters are the same</button>
      </p>
    );
  }
  return (
    <>
      <div class="text">{pieces.map((piece, index) => piece.kind !== "new" && <Part key={index} piece={piece} />)}</div>
      <div class="text">{pieces.map((piece, index) => piece.kind !== "gone" && <Part key={index} piece={piece} />)}</div>
    </>
  );
}

function Part({ piece }: { piece: Piece }) {
  if (piece.kind === "gone") return <del>{piece.text}</del>;
  return piece.kind === "new" ? <ins>{piece.text}</ins> : <>{piece.text}</>;
}
