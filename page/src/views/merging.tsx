// Which entities went into one or were taken out of it, with what takes that back; and merging two by hand.
import { useState } from "preact/hooks";
import { call, listed } from "../api";
import type { Merge } from "../contract";
import type { Entity, Graph } from "../graph";
import { Action, EntityLink, Failure, useLoaded } from "../parts";
import { to } from "../route";
import { at, shown } from "../times";

/** The merges and splits of an entity, and a way to merge another one into it. */
export function Merging({ graph, entity }: { graph: Graph; entity: Entity }) {
  const [round, setRound] = useState(0);
  const again = () => setRound((before) => before + 1);
  return (
    <section aria-labelledby="merges">
      <h2 id="merges">Merges and splits</h2>
      <Merges graph={graph} uuid={entity.uuid} seen={`${round} ${entity.name} ${entity.aliases.join()}`} changed={again} />
      <Another graph={graph} entity={entity} merged={again} />
    </section>
  );
}

interface MergesProps {
  graph: Graph;
  uuid: string; // the entity that is looked at; it may be gone
  seen: string; // they are read again when this changes
  changed: () => void;
}

export function Merges({ graph, uuid, seen, changed }: MergesProps) {
  const { groupId } = graph;
  const { value, error } = useLoaded(
    () => listed("/kgsvc.v1.AdminService/ListMerges", { groupId, uuid }, "merges", 1_000),
    [groupId, uuid, seen],
  );
  return (
    <>
      <Failure error={error} />
      <ul class="plain merges">
        {(value ?? []).map((each) => <Done key={each.mergeId} graph={graph} merge={each} uuid={uuid} undone={changed} />)}
      </ul>
    </>
  );
}

interface DoneProps {
  graph: Graph;
  merge: Merge;
  uuid: string;
  undone: () => void;
}

function Done({ graph, merge, uuid, undone }: DoneProps) {
  const groupId = graph.groupId;
  const split = merge.kind === "MERGE_KIND_SPLIT";
  const kept = <EntityLink graph={graph} uuid={merge.keptUuid!} name={merge.keptName ?? ""} />;
  const other = merge.mergedName || "an entity without a name any more";
  const undo = async () => {
    if (!confirm(split ? `Make one entity of ${merge.keptName} and ${other} again?` : `Take ${other} out of ${merge.keptName} again?`)) return;
    if (split) await call("/kgsvc.v1.AdminService/UndoSplit", { groupId, splitId: merge.mergeId });
    else await call("/kgsvc.v1.AdminService/UndoMerge", { groupId, mergeId: merge.mergeId });
    undone();
  };
  return (
    <li>
      <span class="badge">{split ? "split" : "merge"}</span>{" "}
      {split ? (
        <>{merge.mergedUuid === uuid ? other : <EntityLink graph={graph} uuid={merge.mergedUuid!} name={other} />} was taken out of {kept}</>
      ) : (
        <>{other} went into {kept}</>
      )}{" "}
      <span class="small">
        {shown(at(merge.createdAt))} · {merge.episodeUuid ? <a href={to(groupId, "episode", merge.episodeUuid)}>told by an episode</a> : "asked for by a caller"}
        {merge.obstacle && ` · stays: ${merge.obstacle}`}
      </span>{" "}
      {!merge.obstacle && <Action act={undo}>Undo …</Action>}
    </li>
  );
}

function Another({ graph, entity, merged }: { graph: Graph; entity: Entity; merged: () => void }) {
  const [chosen, setChosen] = useState("");
  const others = [...graph.entities.values()].filter((each) => each.uuid !== entity.uuid).sort((one, other) => one.name.localeCompare(other.name));
  const merge = async () => {
    const other = others.find((each) => each.name === chosen);
    if (other === undefined) throw new Error("No entity has this name.");
    if (!confirm(`Merge ${other.name} into ${entity.name}?`)) return;
    await call("/kgsvc.v1.AdminService/MergeEntityNodes", { groupId: graph.groupId, keepUuid: entity.uuid, mergeUuid: other.uuid });
    setChosen("");
    merged();
  };
  return (
    <details>
      <summary>The same as another entity?</summary>
      <p>
        <label>
          Merge into this one{" "}
          <input list="entities" value={chosen} onInput={(event) => setChosen(event.currentTarget.value)} />
        </label>{" "}
        <datalist id="entities">{others.slice(0, 500).map((each) => <option key={each.uuid} value={each.name} />)}</datalist>
        <Action act={merge}>Merge …</Action>
      </p>
    </details>
  );
}
