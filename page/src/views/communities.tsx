// Communities as a map: who belongs together, each in a colour of its own.
import { useMemo, useState } from "preact/hooks";
import { call, listed } from "../api";
import { Canvas, type Scene } from "../canvas";
import type { Community } from "../contract";
import type { Graph } from "../graph";
import { linksOf, type Node } from "../layout";
import { Action, EntityLink, Failure, Nothing, useLoaded, Waiting } from "../parts";
import { to } from "../route";
import { at, shown } from "../times";

const MOST = 2_000;

export function Communities({ graph }: { graph: Graph }) {
  const groupId = graph.groupId;
  const { value, error, again } = useLoaded(
    () => listed("/kgsvc.v1.AdminService/ListCommunities", { groupId }, "communities", 1_000),
    [groupId],
  );
  const [chosen, setChosen] = useState<string | null>(null);
  const scene = useMemo(() => mapOf(graph, value ?? []), [graph, value, graph.current]);
  const all = useMemo(() => () => 1, []);
  const build = async () => {
    const { builds } = await call("/kgsvc.v1.AdminService/BuildCommunities", { groupIds: [groupId] });
    await built(groupId, builds![0]!.buildId!);
    again();
  };
  return (
    <>
      <div class="head">
        <h1>Communities</h1>
        <Action act={build}>Build</Action>
      </div>
      <Failure error={error} />
      {(value === undefined || !graph.current) && !error && <Waiting />}
      {value?.length === 0 && <Nothing>None have been built yet.</Nothing>}
      {value !== undefined && value.length > 0 && graph.current && (
        <>
          <div class="drawing">
            <Canvas
              scene={scene}
              strength={all}
              chosen={chosen}
              choose={setChosen}
              open={(node) => (location.hash = to(groupId, "entity", node))}
              label="The map of the communities"
              listed="the communities"
            />
          </div>
          <ul class="plain communities">
            {value.map((each, index) => <Entry key={each.uuid} graph={graph} community={each} shade={index % 10} />)}
          </ul>
        </>
      )}
    </>
  );
}

/** Wait until a build is over. Throws Refused, and an Error with its reason if it failed. */
async function built(groupId: string, buildId: string): Promise<void> {
  for (;;) {
    const { build } = await call("/kgsvc.v1.AdminService/GetCommunityBuild", { groupId, buildId });
    if (build!.state === "BUILD_STATE_COMPLETED") return;
    if (build!.state === "BUILD_STATE_FAILED") throw new Error(build!.reason ?? "The communities could not be built.");
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

function mapOf(graph: Graph, communities: Community[]): Scene {
  const nodes = new Map<string, Node>();
  for (const [shade, community] of communities.entries()) {
    for (const uuid of community.memberUuids ?? []) {
      const entity = graph.entities.get(uuid);
      if (entity === undefined || nodes.size >= MOST) continue;
      nodes.set(uuid, { uuid, name: entity.name, size: 4 + Math.min(8, 1.6 * Math.sqrt(graph.degree(uuid))), shade });
    }
  }
  const held = [...graph.facts.values()].filter((fact) => fact.expiredAt === null);
  return { nodes: [...nodes.values()], links: linksOf(held, nodes) };
}

function Entry({ graph, community, shade }: { graph: Graph; community: Community; shade: number }) {
  const members = (community.memberUuids ?? []).slice(0, 30);
  return (
    <li>
      <h2><span class={`dot shade-${shade}`} aria-hidden="true" /> {community.name}</h2>
      <p>{community.summary}</p>
      <p class="small">
        {members.map((uuid, index) => <span key={uuid}>{index > 0 && ", "}<EntityLink graph={graph} uuid={uuid} name="" /></span>)}
        {(community.memberCount ?? 0) > members.length && ` and ${community.memberCount! - members.length} more`} · built {shown(at(community.createdAt))}
      </p>
    </li>
  );
}
