// A question: what was found, why, how long it holds, and what a model would be given.
import type { ComponentChildren } from "preact";
import { call } from "../api";
import type { FoundBy, SearchGraphInput, SearchGraphOutput, SearchScope } from "../contract";
import { entityOf, episodeOf, factOf, type Graph } from "../graph";
import { EntityLink, Failure, FactLine, many, Nothing, Quote, useLoaded, Waiting } from "../parts";
import { to } from "../route";
import { shown } from "../times";

const KINDS: [SearchScope | "", string][] = [
  ["", "best of all"],
  ["SEARCH_SCOPE_FACTS", "facts"],
  ["SEARCH_SCOPE_NODES", "entities"],
  ["SEARCH_SCOPE_EPISODES", "episodes"],
  ["SEARCH_SCOPE_CHUNKS", "passages of documents"],
  ["SEARCH_SCOPE_COMMUNITIES", "communities"],
];

function instant(text: string | null): string | undefined {
  return text ? `${text}T23:59:59Z` : undefined;
}

function inputOf(groupId: string, asked: URLSearchParams): SearchGraphInput {
  const kind = asked.get("kind") as SearchScope | null;
  const relation = asked.get("relation");
  const filters = {
    ...(asked.get("true") && { validAsOf: instant(asked.get("true")) }),
    ...(asked.get("known") && { knownAsOf: instant(asked.get("known")) }),
    ...(relation && { relationNames: [relation] }),
    ...(asked.get("type") && { entityTypes: [asked.get("type")!] }),
  };
  return {
    groupIds: [groupId],
    query: asked.get("q") ?? "",
    maxResults: 20,
    includeScores: true,
    includeContext: true,
    ...(kind ? { searchType: kind } : {}),
    ...(Object.keys(filters).length > 0 && { filters }),
  };
}

export function Search({ graph, asked }: { graph: Graph; asked: URLSearchParams }) {
  const query = asked.get("q") ?? "";
  return (
    <>
      <h1>Search</h1>
      <Question graph={graph} asked={asked} />
      {query && <Results graph={graph} asked={asked} />}
    </>
  );
}

function Question({ graph, asked }: { graph: Graph; asked: URLSearchParams }) {
  const relations = [...new Set([...graph.facts.values()].map((fact) => fact.relation))].sort();
  const types = [...new Set([...graph.entities.values()].flatMap((entity) => entity.labels))].sort();
  const ask = (event: SubmitEvent) => {
    event.preventDefault();
    const given = Object.fromEntries([...new FormData(event.currentTarget as HTMLFormElement)].map(([key, value]) => [key, String(value).trim()]));
    location.hash = to(graph.groupId, "search", "", given);
  };
  return (
    <form class="question" role="search" onSubmit={ask} key={asked.toString()}>
      <input name="q" type="search" required aria-label="Question" placeholder="Where does Alice work?" defaultValue={asked.get("q") ?? ""} />
      <button type="submit">Search</button>
      <div class="filters">
        <label>
          Find{" "}
          <select name="kind" defaultValue={asked.get("kind") ?? ""}>
            {KINDS.map(([kind, title]) => <option key={kind} value={kind} selected={kind === (asked.get("kind") ?? "")}>{title}</option>)}
          </select>
        </label>
        <label>True on <input name="true" type="date" defaultValue={asked.get("true") ?? ""} /></label>
        <label>Known on <input name="known" type="date" defaultValue={asked.get("known") ?? ""} /></label>
        <Choice name="relation" title="Relation" values={relations} chosen={asked.get("relation") ?? ""} />
        <Choice name="type" title="Type" values={types} chosen={asked.get("type") ?? ""} />
      </div>
    </form>
  );
}

function Choice({ name, title, values, chosen }: { name: string; title: string; values: string[]; chosen: string }) {
  if (values.length === 0) return null;
  return (
    <label>
      {title}{" "}
      <select name={name}>
        <option value="">any</option>
        {values.map((each) => <option key={each} value={each} selected={each === chosen}>{each}</option>)}
      </select>
    </label>
  );
}

function Results({ graph, asked }: { graph: Graph; asked: URLSearchParams }) {
  const { value, error, loading } = useLoaded(
    (signal) => call("/kgsvc.v1.RetrievalService/SearchGraph", inputOf(graph.groupId, asked), signal),
    [graph.groupId, asked.toString()],
  );
  if (error) return <Failure error={error} />;
  if (value === undefined) return <Waiting>Searching …</Waiting>;
  return (
    <div class={loading ? "results stale" : "results"}>
      <p class="small" role="status">{value.message ?? "Nothing was found."}</p>
      {!value.count && <Nothing>Nothing fits. Try other words, or no filters.</Nothing>}
      <Found graph={graph} found={value} />
      {value.context && (
        <details>
          <summary>What a model would be given ({value.context.length.toLocaleString("en")} characters)</summary>
          <pre>{value.context}</pre>
        </details>
      )}
    </div>
  );
}

function Found({ graph, found }: { graph: Graph; found: SearchGraphOutput }) {
  return (
    <ol class="plain hits">
      {(found.facts ?? []).map((hit) => {
        const fact = factOf(hit.fact!);
        return (
          <li key={fact.uuid} class="hit">
            <FactLine graph={graph} fact={fact} />
            <Why score={hit.score} by={hit.foundBy}>
              <Sources graph={graph} episodes={fact.episodes} />
            </Why>
          </li>
        );
      })}
      {(found.nodes ?? []).map((hit) => {
        const entity = entityOf(hit.node!);
        return (
          <li key={entity.uuid} class="hit">
            <EntityLink graph={graph} uuid={entity.uuid} name={entity.name} /> <span class="small">{entity.labels.join(", ")}</span>
            <div>{entity.summary}</div>
            <Why score={hit.score} by={hit.foundBy} />
          </li>
        );
      })}
      {(found.episodes ?? []).map((hit) => {
        const episode = episodeOf(hit.episode!);
        return (
          <li key={episode.uuid} class="hit">
            <a href={to(graph.groupId, "episode", episode.uuid)}>{episode.name || "episode"}</a> <span class="small">{shown(episode.referenceAt)}</span>
            <div class="body">{episode.body}</div>
            <Why score={hit.score} by={hit.foundBy} />
          </li>
        );
      })}
      {(found.chunks ?? []).map((hit, index) => (
        <li key={`chunk${index}`} class="hit">
          <a href={to(graph.groupId, "document", hit.chunk!.fullDocId)}>{hit.chunk!.title || hit.chunk!.fullDocId}</a>{" "}
          <span class="small">{[...(hit.chunk!.headings ?? []), hit.chunk!.page && `page ${hit.chunk!.page}`].filter(Boolean).join(" · ")}</span>
          <div class="body">{hit.chunk!.content}</div>
          <Why score={hit.score} by={hit.foundBy} />
        </li>
      ))}
      {(found.communities ?? []).map((hit) => (
        <li key={hit.community!.uuid} class="hit">
          <a href={to(graph.groupId, "communities")}>{hit.community!.name}</a> <span class="small">{many(hit.community!.memberCount ?? 0, "entity", "entities")}</span>
          <div>{hit.community!.summary}</div>
          <Why score={hit.score} by={hit.foundBy} />
        </li>
      ))}
    </ol>
  );
}

/** By what a result was found, at which place, and how it scored. */
function Why({ score, by, children }: { score: number | undefined; by: FoundBy[] | undefined; children?: ComponentChildren }) {
  return (
    <div class="why small">
      <span class="number">score {(score ?? 0).toPrecision(3)}</span>
      {(by ?? []).map((each) => <span key={each.method} class="badge">{reason(each)}</span>)}
      {children}
    </div>
  );
}

function reason({ method, rank, score }: FoundBy): string {
  const value = score ?? 0;
  switch (method) {
    case "SEARCH_METHOD_BM25":
      return `words: ${place(rank)}, ${value.toFixed(2)}`;
    case "SEARCH_METHOD_COSINE":
      return `meaning: ${place(rank)}, ${value.toFixed(2)}`;
    default: {
      const steps = value > 0 ? Math.round(1 / value) - 1 : 0;
      return `neighbour: ${steps} ${steps === 1 ? "step" : "steps"}`;
    }
  }
}

function place(rank: number | undefined): string {
  return `no. ${rank ?? "?"}`;
}

function Sources({ graph, episodes }: { graph: Graph; episodes: string[] }) {
  if (episodes.length === 0) return null;
  return (
    <details>
      <summary class="small">{many(episodes.length, "source")}</summary>
      {episodes.slice(-10).map((uuid) => <Quote key={uuid} graph={graph} uuid={uuid} />)}
    </details>
  );
}
