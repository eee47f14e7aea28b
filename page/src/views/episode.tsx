// What was said, what was read from it, and what it ended.
import { useState } from "preact/hooks";
import { call } from "../api";
import type { Fact, Graph } from "../graph";
import { Action, EntityLink, FactLine, Filter, Long, many, Nothing, Waiting } from "../parts";
import { to } from "../route";
import { shown } from "../times";

export function Episodes({ graph }: { graph: Graph }) {
  const [wanted, setWanted] = useState("");
  const sought = wanted.toLowerCase();
  const all = [...graph.episodes.values()].sort((one, other) => other.referenceAt - one.referenceAt);
  const found = all.filter((each) => `${each.name}\n${each.body}`.toLowerCase().includes(sought));
  return (
    <>
      <h1>Episodes</h1>
      {!graph.current && <Waiting />}
      <Filter label="Find in episodes" value={wanted} set={setWanted} count={found.length} of={all.length} />
      <Long
        items={found}
        show={(each) => (
          <li key={each.uuid} class="row">
            <time class="small">{shown(each.referenceAt)}</time>
            <a href={to(graph.groupId, "episode", each.uuid)} class="clip">{each.body || each.name}</a>
            <span class="small number">{many(graph.factsFrom(each.uuid).length, "fact")}</span>
          </li>
        )}
      />
    </>
  );
}

function Facts({ graph, title, facts }: { graph: Graph; title: string; facts: Fact[] }) {
  if (facts.length === 0) return null;
  return (
    <section>
      <h2>{title}</h2>
      <ul class="plain">
        {facts.map((fact) => <li key={fact.uuid}><FactLine graph={graph} fact={fact} /></li>)}
      </ul>
    </section>
  );
}

export function EpisodeView({ graph, uuid }: { graph: Graph; uuid: string }) {
  const episode = graph.episodes.get(uuid);
  if (episode === undefined) return graph.current ? <Nothing>There is no such episode (any more).</Nothing> : <Waiting />;
  const closed = [...graph.facts.values()].filter((fact) => fact.expiredByEpisode === uuid);
  const remove = async () => {
    if (!confirm("Delete this episode, and what it alone supports?")) return;
    await call("/kgsvc.v1.AdminService/DeleteEpisode", { uuid, groupId: graph.groupId, cascade: true });
    location.hash = to(graph.groupId, "episodes");
  };
  return (
    <article>
      <h1>{episode.name || "Episode"}</h1>
      <p class="small">
        {episode.source} · said {shown(episode.referenceAt)} · taken in {shown(episode.createdAt)}
        {episode.description && ` · ${episode.description}`}
      </p>
      <blockquote class="whole">{episode.body}</blockquote>
      <p>
        {episode.entities.length > 0 && "Names "}
        {episode.entities.map((each, index) => (
          <span key={each}>{index > 0 && ", "}<EntityLink graph={graph} uuid={each} name="" /></span>
        ))}
      </p>
      <Facts graph={graph} title="Read from it" facts={graph.factsFrom(uuid)} />
      <Facts graph={graph} title="What it ended" facts={closed} />
      <div class="last"><Action act={remove} danger>Delete …</Action></div>
    </article>
  );
}
