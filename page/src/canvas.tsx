// A drawn graph that one can move, enlarge, and walk by keyboard. What it draws is text and shapes, never markup.
import { useEffect, useRef } from "preact/hooks";
import { lay, type Link, type Node } from "./layout";

export interface Scene {
  nodes: Node[];
  links: Link[];
}

interface Props {
  scene: Scene;
  strength: (link: Link) => number; // 0: not drawn; below 1: paler
  chosen: string | null;
  choose: (uuid: string | null) => void;
  open: (uuid: string) => void;
  label: string;
  listed: string; // what the list below shows
}

interface Look {
  x: number;
  y: number;
  scale: number;
}

const SHADES = 10;
const NAMED = 40; // nodes that have their names at first sight

export function Canvas(props: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const state = useRef<Drawing | null>(null);
  const { scene, chosen } = props;
  useEffect(() => {
    const drawing = new Drawing(canvas.current!, scene);
    state.current = drawing;
    const stop = lay(scene.nodes, scene.links, () => drawing.moved());
    const watch = new ResizeObserver(() => drawing.resize());
    watch.observe(canvas.current!);
    const theme = matchMedia("(prefers-color-scheme: dark)");
    const recolour = () => drawing.recolour();
    theme.addEventListener("change", recolour);
    return () => {
      stop();
      watch.disconnect();
      theme.removeEventListener("change", recolour);
    };
  }, [scene]);
  useEffect(() => state.current?.show(props.strength, chosen), [scene, props.strength, chosen]);
  return (
    <canvas
      ref={canvas}
      tabIndex={0}
      role="application"
      aria-label={`${props.label}. Arrow keys go to neighbours, Enter opens, plus and minus enlarge. The list below shows ${props.listed}.`}
      onPointerDown={(event) => state.current?.grab(event)}
      onPointerMove={(event) => state.current?.drag(event)}
      onPointerUp={(event) => {
        const clicked = state.current?.release(event);
        if (clicked !== undefined) props.choose(clicked);
      }}
      onDblClick={() => chosen !== null && props.open(chosen)}
      onWheel={(event) => state.current?.zoom(event)}
      onKeyDown={(event) => {
        const next = state.current?.key(event.key, chosen);
        if (event.key === "Enter" && chosen !== null) props.open(chosen);
        else if (next !== undefined) props.choose(next);
        else return;
        event.preventDefault();
      }}
    />
  );
}

interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

function overlap(one: Box, other: Box): boolean {
  return one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
}

class Drawing {
  private readonly context: CanvasRenderingContext2D;
  private look: Look = { x: 0, y: 0, scale: 1 };
  private own = false; // somebody moved it: it is not fitted any more
  private grabbed: { x: number; y: number; far: boolean } | null = null;
  private readonly colours = new Map<string, string>();
  private strength: (link: Link) => number = () => 1;
  private chosen: string | null = null;
  private waiting = false;
  private readonly ranked: Node[];

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly scene: Scene,
  ) {
    this.context = canvas.getContext("2d")!;
    this.ranked = [...scene.nodes].sort((one, other) => other.size - one.size);
    this.recolour();
  }

  recolour(): void {
    const names = ["--text", "--edge", "--accent", "--back", ...Array.from({ length: SHADES }, (_, at) => `--shade-${at}`)];
    for (const name of names) {
      this.canvas.style.color = `var(${name})`; // a canvas knows no variables: let the browser resolve them
      this.colours.set(name, getComputedStyle(this.canvas).color);
    }
    this.canvas.style.color = "";
    this.later();
  }

  resize(): void {
    const ratio = devicePixelRatio || 1;
    this.canvas.width = this.canvas.clientWidth * ratio;
    this.canvas.height = this.canvas.clientHeight * ratio;
    this.moved();
  }

  /** Nodes lie elsewhere: keep all of them in sight until somebody chose otherwise. */
  moved(): void {
    if (!this.own && this.scene.nodes.length > 0) this.fit();
    this.later();
  }

  show(strength: (link: Link) => number, chosen: string | null): void {
    this.strength = strength;
    this.chosen = chosen;
    this.draw();
  }

  private fit(): void {
    const [xs, ys] = [this.scene.nodes.map((node) => node.x ?? 0), this.scene.nodes.map((node) => node.y ?? 0)];
    const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const room = Math.min(this.canvas.clientWidth / (right - left + 160), this.canvas.clientHeight / (bottom - top + 90));
    this.look = { x: (left + right) / 2, y: (top + bottom) / 2, scale: Math.min(room, 1.6) };
  }

  private later(): void {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  private draw(): void {
    const began = performance.now();
    const { context, canvas, look } = this;
    const ratio = devicePixelRatio || 1;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, canvas.clientWidth, canvas.clientHeight);
    context.translate(canvas.clientWidth / 2, canvas.clientHeight / 2);
    context.scale(look.scale, look.scale);
    context.translate(-look.x, -look.y);
    const near = new Set<string>(this.chosen === null ? [] : [this.chosen]);
    const alive = this.drawLinks(near);
    this.drawNodes(near, alive);
    this.drawNames(near, alive);
    performance.measure("kgsvc:draw", { start: began, end: performance.now() });
  }

  /** Returns the nodes that have an edge now; those beside the chosen one come to be `near`. */
  private drawLinks(near: Set<string>): Set<string> {
    const { context } = this;
    const alive = new Set<string>();
    for (const link of this.scene.links) {
      const strength = this.strength(link);
      if (strength <= 0) continue;
      alive.add(link.source.uuid).add(link.target.uuid);
      const beside = this.chosen === link.source.uuid || this.chosen === link.target.uuid;
      if (beside) near.add(link.source.uuid).add(link.target.uuid);
      context.globalAlpha = strength * (this.chosen === null || beside ? 0.9 : 0.35);
      context.strokeStyle = this.colour(beside ? "--accent" : "--edge");
      context.lineWidth = (beside ? 1.8 : 1.1) / Math.sqrt(this.look.scale);
      context.setLineDash(strength < 1 ? [4, 4] : []);
      context.beginPath();
      context.moveTo(link.source.x ?? 0, link.source.y ?? 0);
      context.lineTo(link.target.x ?? 0, link.target.y ?? 0);
      context.stroke();
    }
    context.setLineDash([]);
    return alive;
  }

  private drawNodes(near: Set<string>, alive: Set<string>): void {
    const { context } = this;
    for (const node of this.scene.nodes) {
      context.globalAlpha = !alive.has(node.uuid) ? 0.18 : this.chosen === null || near.has(node.uuid) ? 1 : 0.55;
      context.fillStyle = this.colour(`--shade-${node.shade % SHADES}`);
      context.beginPath();
      context.arc(node.x ?? 0, node.y ?? 0, node.size, 0, 2 * Math.PI);
      context.fill();
      if (node.uuid !== this.chosen) continue;
      context.strokeStyle = this.colour("--text");
      context.lineWidth = 2;
      context.stroke();
    }
  }

  private drawNames(near: Set<string>, alive: Set<string>): void {
    const { context } = this;
    const most = Math.round(NAMED * Math.max(1, this.look.scale ** 2 * 2));
    const size = 12 / this.look.scale;
    context.font = `${size}px ${getComputedStyle(this.canvas).fontFamily}`;
    context.textAlign = "center";
    context.lineJoin = "round";
    context.lineWidth = 3 / this.look.scale;
    context.strokeStyle = this.colour("--back");
    context.fillStyle = this.colour("--text");
    const taken: Box[] = [];
    const first = this.ranked.filter((node) => near.has(node.uuid));
    const others = this.chosen === null ? this.ranked.slice(0, most).filter((node) => alive.has(node.uuid)) : [];
    for (const node of [...first, ...others]) {
      const text = node.name.length > 28 ? `${node.name.slice(0, 27)}…` : node.name;
      const [x, y] = [node.x ?? 0, (node.y ?? 0) + node.size + size];
      const half = context.measureText(text).width / 2;
      const box = { left: x - half, right: x + half, top: y - size, bottom: y };
      if (node.uuid !== this.chosen && taken.some((other) => overlap(box, other))) continue;
      taken.push(box);
      context.globalAlpha = alive.has(node.uuid) || node.uuid === this.chosen ? 1 : 0.4;
      context.strokeText(text, x, y);
      context.fillText(text, x, y);
    }
    context.globalAlpha = 1;
  }

  private colour(name: string): string {
    return this.colours.get(name) ?? "#888";
  }

  private place(event: MouseEvent): [number, number] {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left - box.width / 2, event.clientY - box.top - box.height / 2];
    return [x / this.look.scale + this.look.x, y / this.look.scale + this.look.y];
  }

  private nodeAt([x, y]: [number, number]): Node | undefined {
    const reach = 4 / this.look.scale;
    return this.ranked.find((node) => Math.hypot((node.x ?? 0) - x, (node.y ?? 0) - y) <= node.size + reach);
  }

  grab(event: PointerEvent): void {
    this.canvas.setPointerCapture(event.pointerId);
    this.grabbed = { x: event.clientX, y: event.clientY, far: false };
  }

  drag(event: PointerEvent): void {
    const grabbed = this.grabbed;
    if (grabbed === null) {
      this.canvas.classList.toggle("over", this.nodeAt(this.place(event)) !== undefined);
      return;
    }
    const [dx, dy] = [event.clientX - grabbed.x, event.clientY - grabbed.y];
    if (!grabbed.far && Math.hypot(dx, dy) < 4) return;
    this.own = true;
    this.grabbed = { x: event.clientX, y: event.clientY, far: true };
    this.look = { ...this.look, x: this.look.x - dx / this.look.scale, y: this.look.y - dy / this.look.scale };
    this.later();
  }

  /** What was clicked: a node, null beside all, undefined if the graph was moved. */
  release(event: PointerEvent): string | null | undefined {
    const moved = this.grabbed?.far ?? true;
    this.grabbed = null;
    return moved ? undefined : (this.nodeAt(this.place(event))?.uuid ?? null);
  }

  zoom(event: WheelEvent): void {
    event.preventDefault();
    this.enlarge(Math.exp(-event.deltaY / 400), this.place(event));
  }

  private enlarge(by: number, [x, y]: [number, number]): void {
    const scale = Math.min(8, Math.max(0.05, this.look.scale * by));
    const share = this.look.scale / scale;
    this.own = true;
    this.look = { x: x + (this.look.x - x) * share, y: y + (this.look.y - y) * share, scale };
    this.later();
  }

  /** Where a key leads: to the neighbour that lies most in the direction of an arrow. */
  key(name: string, chosen: string | null): string | null | undefined {
    const arrows: Record<string, [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (name === "Escape") return null;
    if (name === "+" || name === "-") this.enlarge(name === "+" ? 1.25 : 0.8, [this.look.x, this.look.y]);
    const arrow = arrows[name];
    if (arrow === undefined) return undefined;
    const from = this.scene.nodes.find((node) => node.uuid === chosen);
    if (from === undefined) return this.ranked[0]?.uuid;
    const turn = (node: Node) => {
      const [dx, dy] = [(node.x ?? 0) - (from.x ?? 0), (node.y ?? 0) - (from.y ?? 0)];
      return (dx * arrow[0] + dy * arrow[1]) / (Math.hypot(dx, dy) || 1);
    };
    const beside = this.scene.links
      .filter((link) => this.strength(link) > 0 && (link.source === from || link.target === from))
      .map((link) => (link.source === from ? link.target : link.source))
      .filter((node) => node !== from);
    const best = beside.sort((one, other) => turn(other) - turn(one))[0];
    return best !== undefined && turn(best) > 0.3 ? best.uuid : undefined;
  }
}
