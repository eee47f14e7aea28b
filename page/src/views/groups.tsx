// Every group that the caller may read, with how much it holds, and what waits.
import { useState } from "preact/hooks";
import { listed } from "../api";
import { Failure, Filter, Nothing, Table, useLoaded, Waiting } from "../parts";
import { to } from "../route";
import { at, shown } from "../times";

export function Groups() {
  const { value, error, loading, again } = useLoaded(() => listed("/kgsvc.v1.AdminService/ListGroups", {}, "groups"), []);
  const [wanted, setWanted] = useState("");
  const groups = (value ?? []).filter((each) => each.groupId!.toLowerCase().includes(wanted.toLowerCase()));
  return (
    <>
      <div class="head">
        <h1>Groups</h1>
        <button type="button" onClick={again}>Refresh</button>
      </div>
      <Failure error={error} />
      {value === undefined && loading && <Waiting />}
      {value?.length === 0 && <Nothing>There is nothing here yet. Send something with kgsvc ingest.</Nothing>}
      {value !== undefined && value.length > 0 && (
        <>
          <Filter label="Find a group" value={wanted} set={setWanted} count={groups.length} of={value.length} />
          <Table label="Groups">
            <thead>
              <tr>
                <th scope="col">Group</th>
                <th scope="col" class="number">Episodes</th>
                <th scope="col" class="number">Entities</th>
                <th scope="col" class="number">Facts</th>
                <th scope="col" class="number">Waiting</th>
                <th scope="col" class="number">Parked</th>
                <th scope="col">Last change</th>
              </tr>
            </thead>
            <tbody>
              {groups.map((each) => (
                <tr key={each.groupId}>
                  <th scope="row"><a href={to(each.groupId!)}>{each.groupId}</a></th>
                  <td class="number">{(each.episodes ?? 0).toLocaleString("en")}</td>
                  <td class="number">{(each.entities ?? 0).toLocaleString("en")}</td>
                  <td class="number">{(each.facts ?? 0).toLocaleString("en")}</td>
                  <td class="number">{(each.waiting ?? 0).toLocaleString("en")}</td>
                  <td class={each.parked ? "number alarm" : "number"}>{(each.parked ?? 0).toLocaleString("en")}</td>
                  <td>{shown(at(each.changedAt), "nothing in the graph yet")}</td>
                </tr>
              ))}
            </tbody>
          </Table>
        </>
      )}
    </>
  );
}
