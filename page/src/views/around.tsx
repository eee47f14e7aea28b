// The graph around an entity, or of the whole group, as it was true at one time and known at another.
import { useCallback, useMemo, useState } from "preact/hooks";
import { Canvas, type Scene } from "../canvas";
import type { Fact, Graph } from "../graph";
import { type Link, linksOf, type Node } from "../layout";
import { EntityLink, FactLine, many, Nothing, Waiting } from "../parts";
import { to } from "../route";
import { day, span, strength } from "../times";

const MOST = 2_000; // nodes
const LISTED = 500;

export function Around({ graph, uuid }: { graph: Graph; uuid: string }) {
  const [steps, setSteps] = useState(2);
  const [chosen, setChosen] = useState<string | null>(uuid || null);
  const nowMs = useMemo(() => Date.now(), []);
  const stamp = `${graph.entities.size} ${graph.facts.size} ${graph.current}`;
  const scene = useMemo(() => sceneOf(graph, uuid, steps), [graph, uuid, steps, stamp]);
  const facts = useMemo(
    () => scene.links.flatMap((link) => link.facts.map((uuid) => graph.facts.get(uuid)).filter((fact) => fact !== undefined)),
    [scene, graph, graph.round],
  );
  const range = useMemo(() => span(facts, nowMs), [facts, nowMs]);
  const learned = useMemo(() => knowing(facts, nowMs), [facts, nowMs]);
  const [trueMs, setTrue] = useState<number | null>(null); // null: now
  const [knownMs, setKnown] = useState<number | null>(null);
  const fadeMs = (range[1] - range[0]) / 12;
  const left = useCallback(
    (fact: Fact | undefined) => (fact === undefined ? 0 : strength(fact, trueMs ?? nowMs, knownMs ?? Infinity, fadeMs)),
    [trueMs, knownMs, nowMs, fadeMs],
  );
  const how = useCallback(
    (link: Link) => {
      let most = 0; // the strongest of the facts between two
      for (const uuid of link.facts) {
        most = Math.max(most, left(graph.facts.get(uuid)));
        if (most === 1) break;
      }
      return most;
    },
    [graph, left, scene],
  );
  const centre = graph.entities.get(uuid);
  if (!graph.current) return <Waiting>Reading the graph …</Waiting>;
  if (scene.nodes.length === 0) return <Nothing>There is nothing to draw: the group has no entities.</Nothing>;
  const holding = facts.filter((fact) => left(fact) === 1);
  return (
    <>
      <div class="head">
        <h1>{centre ? `Around ${centre.name}` : "Graph"}</h1>
        {centre && (
          <label class="small">
            Steps{" "}
            <select value={steps} onChange={(event) => setSteps(Number(event.currentTarget.value))}>
              {[1, 2, 3].map((each) => <option key={each} value={each}>{each}</option>)}
            </select>
          </label>
        )}
        <span class="small" role="status">{many(scene.nodes.length, "entity", "entities")} · {holding.length.toLocaleString("en")} of {many(facts.length, "fact")} hold</span>
      </div>
      <div class="sliders">
        <Slider label="True on" range={range} value={trueMs} nowMs={nowMs} set={setTrue} />
        <Slider label="Known on" range={learned} value={knownMs} nowMs={nowMs} set={setKnown} />
      </div>
      <div class="drawing">
        <Canvas
          scene={scene}
          strength={how}
          chosen={chosen}
          choose={setChosen}
          open={(node) => (location.hash = to(graph.groupId, "entity", node))}
          label={centre ? `The graph around ${centre.name}` : "The graph of the group"}
          listed={`the facts that hold, at most ${LISTED}`}
        />
        {chosen !== null && <Aside graph={graph} uuid={chosen} facts={holding} />}
      </div>
      <Legend graph={graph} scene={scene} />
      <Listing graph={graph} facts={holding} />
    </>
  );
}

/** Everything within so many steps of an entity; of the whole group without one, the best connected first. */
function sceneOf(graph: Graph, uuid: string, steps: number): Scene {
  const within = uuid ? reached(graph, uuid, steps) : ranked(graph);
  const nodes = new Map<string, Node>();
  const types = typesOf(graph);
  for (const each of within) {
    const entity = graph.entities.get(each);
    if (entity === undefined) continue;
    const size = each === uuid ? 13 : 4 + Math.min(8, 1.6 * Math.sqrt(graph.degree(each)));
    nodes.set(each, { uuid: each, name: entity.name, size, shade: types.indexOf(entity.labels[0] ?? "") });
  }
  return { nodes: [...nodes.values()], links: linksOf(graph.facts.values(), nodes) };
}

/** The types of entities, each of which has a colour. */
function typesOf(graph: Graph): string[] {
  return [...new Set([...graph.entities.values()].map((entity) => entity.labels[0] ?? ""))].sort();
}

function Legend({ graph, scene }: { graph: Graph; scene: Scene }) {
  const drawn = new Set(scene.nodes.map((node) => node.shade));
  return (
    <ul class="plain legend small" aria-label="Types">
      {typesOf(graph).map((type, shade) => drawn.has(shade) && (
        <li key={type}><span class={`dot shade-${shade % 10}`} aria-hidden="true" /> {type || "no type"}</li>
      ))}
    </ul>
  );
}

function reached(graph: Graph, uuid: string, steps: number): Set<string> {
  const found = new Set([uuid]);
  let edge = [uuid];
  for (let step = 0; step < steps; step += 1) {
    const beside = edge.flatMap((each) => graph.factsOf(each).flatMap((fact) => [fact.source, fact.target]));
    edge = [...new Set(beside)].filter((each) => !found.has(each)).slice(0, MOST - found.size);
    for (const each of edge) found.add(each);
  }
  return found;
}

function ranked(graph: Graph): string[] {
  return [...graph.entities.keys()].sort((one, other) => graph.degree(other) - graph.degree(one) || one.localeCompare(other)).slice(0, MOST);
}

/** From before the first fact was learned until now. */
function knowing(facts: Fact[], nowMs: number): [number, number] {
  const first = facts.reduce((least, fact) => Math.min(least, fact.createdAt), nowMs);
  return [first - (nowMs - first) * 0.05 - 1_000, nowMs];
}

interface SliderProps {
  label: string;
  range: [number, number];
  value: number | null;
  nowMs: number;
  set: (ms: number | null) => void;
}

const NOTCHES = 1_000;

function Slider({ label, range: [from, until], value, nowMs, set }: SliderProps) {
  const at = value ?? nowMs;
  const short = until - from < 3 * 86_400_000;
  const text = value === null ? "now" : short ? new Date(at).toISOString().slice(0, 16).replace("T", " ") : day(at);
  return (
    <label class="slider">
      <span>{label}</span>
      <input
        type="range"
        min="0"
        max={NOTCHES}
        value={Math.round(((at - from) / (until - from)) * NOTCHES)}
        aria-valuetext={text}
        onInput={(event) => set(from + (Number(event.currentTarget.value) / NOTCHES) * (until - from))}
      />
      <output>{text}</output>
      <button type="button" disabled={value === null} onClick={() => set(null)}>Now</button>
    </label>
  );
}

function Aside({ graph, uuid, facts }: { graph: Graph; uuid: string; facts: Fact[] }) {
  const entity = graph.entities.get(uuid);
  const own = facts.filter((fact) => fact.source === uuid || fact.target === uuid);
  return (
    <aside aria-label={entity?.name}>
      <h2><EntityLink graph={graph} uuid={uuid} name="" /></h2>
      <p class="small">{entity?.labels.join(", ")} <a href={to(graph.groupId, "graph", uuid)}>Centre</a></p>
      {entity?.summary && <p>{entity.summary}</p>}
      <ul class="plain">{own.slice(0, 60).map((fact) => <li key={fact.uuid}><FactLine graph={graph} fact={fact} /></li>)}</ul>
    </aside>
  );
}

function Listing({ graph, facts }: { graph: Graph; facts: Fact[] }) {
  const [open, setOpen] = useState(false); // a list that nobody reads is not made anew with each move of a slider
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>As a list: {many(facts.length, "fact")}</summary>
      <ul class="plain">
        {open && facts.slice(0, LISTED).map((fact) => <li key={fact.uuid}><FactLine graph={graph} fact={fact} /></li>)}
      </ul>
      {open && facts.length > LISTED && <Nothing>And {facts.length - LISTED} more.</Nothing>}
    </details>
  );
}
