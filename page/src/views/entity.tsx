// An entity: what is known of it, its facts on a timeline, other names, what was merged into it or taken out of it.
import { useState } from "preact/hooks";
import type { Graph } from "../graph";
import { Filter, Long, many, Nothing, Quote, Waiting } from "../parts";
import { to } from "../route";
import { Merges, Merging } from "./merging";
import { Timeline } from "./timeline";

export function Entities({ graph }: { graph: Graph }) {
  const [wanted, setWanted] = useState("");
  const sought = wanted.toLowerCase();
  const all = [...graph.entities.values()].sort((one, other) => graph.degree(other.uuid) - graph.degree(one.uuid) || one.name.localeCompare(other.name));
  const found = all.filter((each) => [each.name, ...each.aliases, ...each.labels].join("\n").toLowerCase().includes(sought));
  return (
    <>
      <h1>Entities</h1>
      {!graph.current && <Waiting />}
      <Filter label="Find an entity" value={wanted} set={setWanted} count={found.length} of={all.length} />
      <Long
        items={found}
        show={(each) => (
          <li key={each.uuid} class="row">
            <a href={to(graph.groupId, "entity", each.uuid)}>{each.name}</a>
            <span class="small">{each.labels.join(", ")}</span>
            <span class="small number">{many(graph.degree(each.uuid), "fact")}</span>
          </li>
        )}
      />
    </>
  );
}

export function EntityView({ graph, uuid }: { graph: Graph; uuid: string }) {
  const entity = graph.entities.get(uuid);
  if (entity === undefined) return graph.current ? <Gone graph={graph} uuid={uuid} /> : <Waiting />;
  const facts = graph.factsOf(uuid);
  const named = [...graph.episodes.values()].filter((each) => each.entities.includes(uuid)).sort((one, other) => other.referenceAt - one.referenceAt);
  return (
    <article>
      <div class="head">
        <h1>{entity.name}</h1>
        <span class="small">{entity.labels.join(", ")}</span>
        <a class="button" href={to(graph.groupId, "graph", uuid)}>Graph around it</a>
      </div>
      {entity.summary && <p class="summary">{entity.summary}</p>}
      {entity.aliases.length > 0 && <p class="small">Also called {entity.aliases.join(", ")}</p>}
      <h2>Facts</h2>
      {facts.length === 0 ? <Nothing>No fact is about it.</Nothing> : <Timeline graph={graph} facts={facts} around={uuid} />}
      <section aria-labelledby="sources">
        <h2 id="sources">Sources</h2>
        <details>
          <summary>Named by {many(named.length, "episode")}</summary>
          {named.slice(0, 50).map((each) => <Quote key={each.uuid} graph={graph} uuid={each.uuid} />)}
        </details>
      </section>
      <Merging graph={graph} entity={entity} />
    </article>
  );
}

/** Nobody has this uuid: never had, or no longer. */
function Gone({ graph, uuid }: { graph: Graph; uuid: string }) {
  return (
    <>
      <h1>Entity</h1>
      <Nothing>There is no such entity (any more).</Nothing>
      <Merges graph={graph} uuid={uuid} seen="" changed={() => undefined} />
    </>
  );
}
