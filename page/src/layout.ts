// Where the nodes of a graph lie: a force layout, computed a little in each frame. The same graph lies the same way.
import { forceCenter, forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY, type SimulationNodeDatum } from "d3-force";
import type { Fact } from "./graph";

export interface Node extends SimulationNodeDatum {
  uuid: string;
  name: string;
  size: number; // radius
  shade: number; // index of a colour
}

export interface Link {
  source: Node;
  target: Node;
  facts: string[]; // between the two
}

/** The links between these nodes, one for each pair that facts are between. */
export function linksOf(facts: Iterable<Fact>, nodes: Map<string, Node>): Link[] {
  const links = new Map<string, Link>();
  for (const fact of facts) {
    const [source, target] = [nodes.get(fact.source), nodes.get(fact.target)];
    if (source === undefined || target === undefined || source === target) continue;
    const pair = [fact.source, fact.target].sort().join(" ");
    const known = links.get(pair);
    if (known === undefined) links.set(pair, { source, target, facts: [fact.uuid] });
    else known.facts.push(fact.uuid);
  }
  return [...links.values()];
}

const FRAME_MS = 8; // of computing in a frame
const ROUNDS = 300;

/** Lay nodes out; `moved` is told after each frame. Returns what stops it. */
export function lay(nodes: Node[], links: Link[], moved: () => void): () => void {
  const linked = new Set(links.flatMap((link) => [link.source, link.target]));
  const alone = (node: Node) => !linked.has(node); // they have nothing else that holds them
  const crowd = Math.min(1, 60 / Math.sqrt(nodes.length + 1));
  const simulation = forceSimulation(nodes)
    .force("link", forceLink<Node, Link>(links).distance(70).strength(0.35))
    .force("charge", forceManyBody<Node>().strength(-140 * crowd - 30).distanceMax(600))
    .force("collide", forceCollide<Node>((node) => node.size + 4))
    .force("x", forceX<Node>().strength((node) => (alone(node) ? 0.16 : 0.07)))
    .force("y", forceY<Node>().strength((node) => (alone(node) ? 0.24 : 0.12)))
    .force("center", forceCenter(0, 0))
    .alphaDecay(1 - 0.001 ** (1 / ROUNDS))
    .stop();
  let frame = 0;
  let rounds = 0;
  const step = () => {
    const began = performance.now();
    while (rounds < ROUNDS && performance.now() - began < FRAME_MS) {
      simulation.tick();
      rounds += 1;
    }
    moved();
    if (rounds < ROUNDS) frame = requestAnimationFrame(step);
    else performance.mark("kgsvc:laid");
  };
  frame = requestAnimationFrame(step);
  return () => cancelAnimationFrame(frame);
}
