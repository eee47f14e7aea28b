// The documents of a group and how far they are.
import { listed } from "../api";
import type { Graph } from "../graph";
import { Failure, Nothing, Table, useLoaded, Waiting } from "../parts";
import { to } from "../route";
import { at, shown } from "../times";

export function Documents({ graph }: { graph: Graph }) {
  const groupId = graph.groupId;
  const { value, error, loading } = useLoaded(
    () => listed("/kgsvc.v1.RetrievalService/ListDocuments", { groupId }, "documents"),
    [groupId, graph.episodes.size],
  );
  return (
    <>
      <h1>Documents</h1>
      <Failure error={error} />
      {value === undefined && loading && <Waiting />}
      {value?.length === 0 && <Nothing>This group has no documents.</Nothing>}
      {value !== undefined && value.length > 0 && (
        <Table label="Documents">
          <thead>
            <tr>
              <th scope="col">Document</th>
              <th scope="col">State</th>
              <th scope="col" class="number">Revision</th>
              <th scope="col" class="number">Chunks in the graph</th>
              <th scope="col">Changed</th>
            </tr>
          </thead>
          <tbody>
            {value.map((each) => (
              <tr key={each.documentId}>
                <th scope="row"><a href={to(groupId, "document", each.documentId)}>{each.title || each.documentId}</a></th>
                <td>
                  {(each.state ?? "").replace("DOCUMENT_STATE_", "").toLowerCase()}
                  {each.reason && <div class="small">{each.reason}</div>}
                </td>
                <td class="number">{each.revision}</td>
                <td class="number">{each.chunksInGraph ?? 0} of {each.chunks ?? 0}</td>
                <td>{shown(at(each.updatedAt))}</td>
              </tr>
            ))}
          </tbody>
        </Table>
      )}
    </>
  );
}
