// Facts as bars, each from when to when it is true; one that is opened tells where it comes from and can be corrected or retracted.
import { useState } from "preact/hooks";
import { call } from "../api";
import type { Fact, Graph } from "../graph";
import { Action, EntityLink, Quote, Standing, standing } from "../parts";
import { routeOf } from "../route";
import { interval, shown, span, ticks } from "../times";

const WIDE = 1_000; // units of a drawing; bars are placed in them

type Scale = (ms: number) => number;

export function Timeline({ graph, facts, around }: { graph: Graph; facts: Fact[]; around: string }) {
  const [open, setOpen] = useState<string | null>(routeOf(location.hash).asked.get("fact"));
  const [past, setPast] = useState(true);
  const nowMs = Date.now();
  const shownFacts = facts.filter((fact) => past || standing(fact, nowMs) === "current").sort(order);
  const range = span(shownFacts, nowMs);
  const scale: Scale = (ms) => ((Math.min(Math.max(ms, range[0]), range[1]) - range[0]) / (range[1] - range[0])) * WIDE;
  return (
    <div class="timeline">
      <label class="small">
        <input type="checkbox" checked={past} onChange={(event) => setPast(event.currentTarget.checked)} /> former facts too
      </label>
      <Axis range={range} scale={scale} nowMs={nowMs} />
      <ul class="plain">
        {shownFacts.map((fact) => (
          <li key={fact.uuid} class={`line ${standing(fact, nowMs).replace(" ", "-")}`}>
            <button type="button" class="bar" aria-expanded={open === fact.uuid} onClick={() => setOpen(open === fact.uuid ? null : fact.uuid)}>
              <span class="label">
                <span class="clip">{fact.text}</span>
                <Standing fact={fact} />
              </span>
              <Bar fact={fact} scale={scale} nowMs={nowMs} />
            </button>
            {open === fact.uuid && <Details graph={graph} fact={fact} around={around} />}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** By relation, then by when they began. */
function order(one: Fact, other: Fact): number {
  return one.relation.localeCompare(other.relation) || begin(one) - begin(other) || one.uuid.localeCompare(other.uuid);
}

function begin(fact: Fact): number {
  return fact.validAt ?? -8.64e15;
}

function Axis({ range, scale, nowMs }: { range: [number, number]; scale: Scale; nowMs: number }) {
  return (
    <div class="axis" aria-hidden="true">
      <svg viewBox={`0 0 ${WIDE} 20`} preserveAspectRatio="none">
        {ticks(range, 8).map(([ms]) => <line key={ms} x1={scale(ms)} x2={scale(ms)} y1="14" y2="20" />)}
        <line class="now" x1={scale(nowMs)} x2={scale(nowMs)} y1="0" y2="20" />
      </svg>
      <svg class="names">
        {ticks(range, 8).map(([ms, text]) => <text key={ms} x={`${scale(ms) / (WIDE / 100)}%`} y="11">{text}</text>)}
      </svg>
    </div>
  );
}

function Bar({ fact, scale, nowMs }: { fact: Fact; scale: Scale; nowMs: number }) {
  const from = fact.validAt === null ? 0 : scale(fact.validAt);
  const end = scale(fact.invalidAt ?? Math.max(nowMs, fact.validAt ?? nowMs));
  const struck = ["updated", "retracted"].includes(fact.reason);
  return (
    <span class="drawn">
      <svg viewBox={`0 0 ${WIDE} 20`} preserveAspectRatio="none" role="img" aria-label={interval(fact)}>
        <line class="now" x1={scale(nowMs)} x2={scale(nowMs)} y1="0" y2="20" />
        <rect class={fact.validAt === null ? "span unknown" : "span"} x={from} y="5" width={Math.max(end - from, 4)} height="10" rx="2" />
        {fact.invalidAt === null && fact.expiredAt === null && <rect class="open" x={end} y="5" width={WIDE - end} height="10" />}
        {struck && <line class="strike" x1={from} x2={end} y1="10" y2="10" />}
      </svg>
    </span>
  );
}

function Details({ graph, fact, around }: { graph: Graph; fact: Fact; around: string }) {
  const other = fact.source === around ? fact.target : fact.source;
  const by = graph.facts.get(fact.expiredBy);
  return (
    <div class="details">
      <dl class="pairs">
        <dt>relation</dt>
        <dd>{fact.relation} with <EntityLink graph={graph} uuid={other} name={fact.source === around ? fact.targetName : fact.sourceName} /></dd>
        <dt>true</dt>
        <dd>{interval(fact)}</dd>
        <dt>known</dt>
        <dd>{shown(fact.createdAt)} → {fact.expiredAt === null ? "now" : shown(fact.expiredAt)}{fact.reason && ` (${fact.reason})`}</dd>
        {by && (
          <>
            <dt>replaced by</dt>
            <dd>{by.text}</dd>
          </>
        )}
        {fact.updateReason && (
          <>
            <dt>corrected, since</dt>
            <dd>{fact.updateReason}</dd>
          </>
        )}
        {fact.retractReason && (
          <>
            <dt>retracted, since</dt>
            <dd>{fact.retractReason}</dd>
          </>
        )}
      </dl>
      {fact.episodes.slice(-10).map((uuid) => <Quote key={uuid} graph={graph} uuid={uuid} />)}
      {fact.expiredAt === null && <Correction graph={graph} fact={fact} />}
    </div>
  );
}

function Correction({ graph, fact }: { graph: Graph; fact: Fact }) {
  const [text, setText] = useState(fact.text);
  const [reason, setReason] = useState("");
  const groupId = graph.groupId;
  const correct = () => call("/kgsvc.v1.AdminService/UpdateFact", { uuid: fact.uuid, groupId, fact: text, ...(reason && { reason }) });
  const retract = () => call("/kgsvc.v1.AdminService/RetractFact", { uuid: fact.uuid, groupId, reason });
  const remove = async () => {
    if (confirm("Delete this fact for good?")) await call("/kgsvc.v1.AdminService/DeleteEntityEdge", { uuid: fact.uuid, groupId });
  };
  return (
    <div class="correction">
      <label>Fact <input value={text} onInput={(event) => setText(event.currentTarget.value)} /></label>
      <label>Why <input value={reason} placeholder="What was wrong" onInput={(event) => setReason(event.currentTarget.value)} /></label>
      <Action act={correct}>Correct</Action>
      <Action act={retract} needs={reason.trim() !== ""} title="It was never true. Say why; it stays in the history">Retract</Action>
      <Action act={remove} danger>Delete …</Action>
    </div>
  );
}
