// A group: what it holds, what waits, what is parked and why.
import { call, listed } from "../api";
import type { ItemState, ListedItem } from "../contract";
import type { Graph } from "../graph";
import { Action, Failure, many, Nothing, Table, useLoaded, Waiting } from "../parts";
import { to } from "../route";
import { at, shown } from "../times";

const WAITING: ItemState[] = [
  "ITEM_STATE_ACCEPTED",
  "ITEM_STATE_EXTRACTED",
  "ITEM_STATE_EMBEDDED",
  "ITEM_STATE_UPSERTED",
  "ITEM_STATE_EXTRACT_FAILED",
  "ITEM_STATE_EMBED_FAILED",
  "ITEM_STATE_UPSERT_FAILED",
];

function spoken(state: ItemState | undefined): string {
  return (state ?? "").replace("ITEM_STATE_", "").replaceAll("_", " ").toLowerCase();
}

export function Overview({ graph }: { graph: Graph }) {
  const groupId = graph.groupId;
  const of = (states: ItemState[]) => listed("/kgsvc.v1.IngestionService/ListItems", { groupId, states }, "items", 2_000);
  const round = graph.episodes.size; // what came in has left the queue
  const waiting = useLoaded(() => of(WAITING), [groupId, round]);
  const parked = useLoaded(() => of(["ITEM_STATE_PARKED"]), [groupId, round]);
  const retry = async (uuids: string[]) => {
    const which = uuids.length > 0 ? { uuids } : { allParked: true };
    await call("/kgsvc.v1.IngestionService/RetryItems", { groupId, ...which });
    waiting.again();
    parked.again();
  };
  const tiles: [string, number | undefined][] = [
    ["episodes", graph.episodes.size],
    ["entities", graph.entities.size],
    ["facts", graph.facts.size],
    ["waiting", waiting.value?.length],
    ["parked", parked.value?.length],
  ];
  return (
    <>
      <h1>Overview</h1>
      <dl class="tiles">
        {tiles.map(([name, count]) => (
          <div key={name} class={name === "parked" && count ? "tile alarm" : "tile"}>
            <dt>{name}</dt>
            <dd>{count === undefined ? "…" : count.toLocaleString("en")}</dd>
          </div>
        ))}
      </dl>
      {!graph.current && <Waiting>Reading the graph …</Waiting>}
      <Failure error={waiting.error ?? parked.error} />
      <Glance graph={graph} />
      {waiting.value !== undefined && waiting.value.length > 0 && <Queue items={waiting.value} />}
      <section aria-labelledby="parked">
        <div class="head">
          <h2 id="parked">Parked</h2>
          {parked.value !== undefined && parked.value.length > 0 && <Action act={() => retry([])}>Retry all</Action>}
        </div>
        {parked.value?.length === 0 && <Nothing>Nothing is parked.</Nothing>}
        {parked.value !== undefined && parked.value.length > 0 && <Parked items={parked.value} retry={retry} />}
      </section>
    </>
  );
}

/** What was said last, and whom most facts are about. */
function Glance({ graph }: { graph: Graph }) {
  const last = [...graph.episodes.values()].sort((one, other) => other.referenceAt - one.referenceAt).slice(0, 8);
  const best = [...graph.entities.values()].sort((one, other) => graph.degree(other.uuid) - graph.degree(one.uuid)).slice(0, 8);
  if (last.length === 0) return null;
  return (
    <div class="glance">
      <section aria-labelledby="latest">
        <h2 id="latest">Latest episodes</h2>
        <ul class="plain">
          {last.map((each) => (
            <li key={each.uuid} class="row">
              <time class="small">{shown(each.referenceAt)}</time>
              <a href={to(graph.groupId, "episode", each.uuid)} class="clip">{each.body}</a>
            </li>
          ))}
        </ul>
      </section>
      <section aria-labelledby="known">
        <h2 id="known">Best known</h2>
        <ul class="plain">
          {best.map((each) => (
            <li key={each.uuid} class="row">
              <a href={to(graph.groupId, "entity", each.uuid)}>{each.name}</a>
              <span class="small">{each.labels.join(", ")}</span>
              <span class="small number">{many(graph.degree(each.uuid), "fact")}</span>
            </li>
          ))}
        </ul>
      </section>
    </div>
  );
}

function Queue({ items }: { items: ListedItem[] }) {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(spoken(item.state), (counts.get(spoken(item.state)) ?? 0) + 1);
  return (
    <section aria-labelledby="queue">
      <h2 id="queue">On the way into the graph</h2>
      <p>{[...counts].map(([state, count]) => `${count} ${state}`).join(" · ")}</p>
    </section>
  );
}

function Parked({ items, retry }: { items: ListedItem[]; retry: (uuids: string[]) => Promise<void> }) {
  return (
    <Table label="Parked items">
      <thead>
        <tr>
          <th scope="col">Item</th>
          <th scope="col">Step</th>
          <th scope="col">Why</th>
          <th scope="col">Since</th>
          <th scope="col"><span class="hidden">Retry</span></th>
        </tr>
      </thead>
      <tbody>
        {items.map((item) => (
          <tr key={item.uuid}>
            <th scope="row">{item.name || item.uuid}</th>
            <td>{item.step}</td>
            <td>{item.reason}</td>
            <td>{shown(at(item.updatedAt))}</td>
            <td><Action act={() => retry([item.uuid!])}>Retry</Action></td>
          </tr>
        ))}
      </tbody>
    </Table>
  );
}
