// What several views show: facts, names, failures, and things that are still on their way.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Refused } from "./api";
import type { Fact, Graph, Told } from "./graph";
import { to } from "./route";
import { interval, shown } from "./times";

export type Loaded<T> = { value?: T; error?: Error; loading: boolean };

/** What a promise brings, asked for again whenever `keys` change. What came before stays until then. */
export function useLoaded<T>(load: (signal: AbortSignal) => Promise<T>, keys: unknown[]): Loaded<T> & { again: () => void } {
  const [state, setState] = useState<Loaded<T>>({ loading: true });
  const [round, setRound] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    setState((before) => ({ ...before, loading: true }));
    load(stop.signal).then(
      (value) => stop.signal.aborted || setState({ value, loading: false }),
      (error: Error) => stop.signal.aborted || setState({ error, loading: false }),
    );
    return () => stop.abort();
  }, [...keys, round]);
  return { ...state, again: () => setRound((before) => before + 1) };
}

/** A number of things. */
export function many(count: number, one: string, more = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : more}`;
}

export function Failure({ error }: { error: Error | null | undefined }) {
  if (!error) return null;
  const code = error instanceof Refused ? error.code : "error";
  return (
    <p class="failure" role="alert">
      <strong>{code.replaceAll("_", " ")}</strong> {error.message}
    </p>
  );
}

export function Waiting({ children = "Loading …" }: { children?: ComponentChildren }) {
  return <p class="waiting" role="status">{children}</p>;
}

export function Nothing({ children }: { children: ComponentChildren }) {
  return <p class="nothing">{children}</p>;
}

export function EntityLink({ graph, uuid, name }: { graph: Graph; uuid: string; name: string }) {
  const known = graph.entities.get(uuid);
  return <a href={to(graph.groupId, "entity", uuid)}>{known?.name ?? (name || "(gone)")}</a>;
}

/** How a fact stands: current, ended, superseded, corrected, retracted. */
export function standing(fact: Fact, nowMs: number): string {
  if (fact.expiredAt !== null) return fact.reason || "expired";
  if (fact.invalidAt !== null && fact.invalidAt <= nowMs) return "ended";
  return fact.validAt !== null && fact.validAt > nowMs ? "to come" : "current";
}

export function Standing({ fact }: { fact: Fact }) {
  const how = standing(fact, Date.now());
  return how === "current" ? null : <span class={`badge ${how.replace(" ", "-")}`}>{how}</span>;
}

/** Whether its ends and its relation tell nothing: a sentence from which no relation was read. */
function mentionsItself(fact: Fact): boolean {
  return fact.source === fact.target && fact.relation.startsWith("MENTIONED");
}

/** A fact in one line: its text, ends, interval. */
export function FactLine({ graph, fact }: { graph: Graph; fact: Fact }) {
  const struck = ["updated", "retracted"].includes(fact.reason);
  return (
    <div class="fact">
      <span class={struck ? "struck" : ""}>{fact.text}</span> <Standing fact={fact} />
      <div class="small">
        <EntityLink graph={graph} uuid={fact.source} name={fact.sourceName} />
        {!mentionsItself(fact) && (
          <> <span class="relation">{fact.relation}</span> <EntityLink graph={graph} uuid={fact.target} name={fact.targetName} /></>
        )} · {interval(fact)}
      </div>
    </div>
  );
}

/** What was said, with who and when. */
export function Quote({ graph, uuid, whole = false }: { graph: Graph; uuid: string; whole?: boolean }) {
  const episode: Told | undefined = graph.episodes.get(uuid);
  if (episode === undefined) return <Nothing>an episode that is gone</Nothing>;
  const cut = !whole && episode.body.length > 280;
  return (
    <figure class="quote">
      <blockquote>{cut ? `${episode.body.slice(0, 280)} …` : episode.body}</blockquote>
      <figcaption class="small">
        <a href={to(graph.groupId, "episode", uuid)}>{episode.name || episode.source || "episode"}</a> · {shown(episode.referenceAt)}
        {episode.description && ` · ${episode.description}`}
      </figcaption>
    </figure>
  );
}

/** A button that says what became of its work; it waits until there is what it `needs`. */
export function Action({ children, act, danger = false, title, needs = true }: { children: ComponentChildren; act: () => Promise<unknown>; danger?: boolean; title?: string; needs?: boolean }) {
  const [state, setState] = useState<{ busy: boolean; error?: Error }>({ busy: false });
  const here = useRef(true);
  useEffect(() => () => void (here.current = false), []);
  const run = async () => {
    setState({ busy: true });
    try {
      await act();
      if (here.current) setState({ busy: false });
    } catch (error) {
      if (here.current) setState({ busy: false, error: error as Error });
    }
  };
  return (
    <>
      <button type="button" class={danger ? "danger" : ""} title={title} disabled={state.busy || !needs} onClick={() => void run()}>
        {children}
      </button>
      <Failure error={state.error} />
    </>
  );
}

/** A table; where the screen is narrow it can be moved sideways. */
export function Table({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <div class="table" role="region" aria-label={label} tabIndex={0}>
      <table>{children}</table>
    </div>
  );
}

/** A filter for a long list, and how much of it is shown. */
export function Filter({ label, value, set, count, of }: { label: string; value: string; set: (text: string) => void; count: number; of: number }) {
  return (
    <p class="filter">
      <input type="search" aria-label={label} placeholder={label} value={value} onInput={(event) => set(event.currentTarget.value)} />
      <span class="small" role="status">{count === of ? `${of}` : `${count} of ${of}`}</span>
    </p>
  );
}

/** A list that shows its first entries until more are wanted. */
export function Long<T>({ items, show, first = 200 }: { items: T[]; show: (item: T) => ComponentChildren; first?: number }) {
  const [most, setMost] = useState(first);
  return (
    <>
      <ul class="plain">{items.slice(0, most).map(show)}</ul>
      {items.length > most && (
        <button type="button" onClick={() => setMost(most + 1_000)}>
          Show more ({items.length - most} left)
        </button>
      )}
    </>
  );
}
