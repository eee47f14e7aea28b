// What comes into the graph while one looks.
import type { Change, Graph } from "../graph";
import { many, Nothing, Waiting } from "../parts";
import { to } from "../route";

function Text({ graph, change }: { graph: Graph; change: Change }) {
  if (change.kind === "fact") {
    const fact = graph.facts.get(change.uuid);
    const entity = fact?.source ?? "";
    return <a href={to(graph.groupId, "entity", entity, { fact: change.uuid })}>{fact?.text ?? change.text}</a>;
  }
  return <a href={to(graph.groupId, change.kind, change.uuid)} class="clip">{change.text}</a>;
}

export function Live({ graph }: { graph: Graph }) {
  return (
    <>
      <h1>Live</h1>
      {graph.current ? (
        <p class="small" role="status"><span class="pulse" aria-hidden="true" /> Watching. {many(graph.changes.length, "change")} since the page was opened.</p>
      ) : (
        <Waiting>Reading the graph …</Waiting>
      )}
      {graph.current && graph.changes.length === 0 && <Nothing>Nothing has changed yet.</Nothing>}
      <ol class="plain live" aria-live="polite">
        {graph.changes.map((change, index) => (
          <li key={`${graph.changes.length - index}`} class="row">
            <time class="small">{new Date(change.atMs).toLocaleTimeString("en-GB")}</time>
            <span class={`badge ${change.kind}`}>{change.kind}</span>
            <Text graph={graph} change={change} />
          </li>
        ))}
      </ol>
    </>
  );
}
