// Adding documents, in parts those that are larger than a call may be.
import { create } from "@bufbuild/protobuf";
import { WAIT_MS, type Caller, type CallOptions } from "./calls.js";
import { failure } from "./errors.js";
import { DocumentItemSchema, type DocumentItem } from "./gen/kgsvc/v1/documents_pb.js";
import { timestamp } from "./items.js";
import { addedDocument, type AddedDocument } from "./values.js";

const WHOLE_BYTES = 3 * 1024 * 1024; // of a document that one call carries
const PART_BYTES = 1024 * 1024;

/** What is known of a document. It is the same one by `id`, else by `sourceUrl`, else by `path`. */
export interface DocumentOptions extends CallOptions {
  id?: string | undefined;
  title?: string | undefined;
  sourceUrl?: string | undefined;
  author?: string | undefined;
  /** Its end tells the format of bytes; that of a file by default. */
  path?: string | undefined;
  /** When the text was true: by default when the file was last changed, or now. */
  time?: Date | undefined;
}

export async function addDocument(
  caller: Caller, groupId: string, content: string | Uint8Array | { readonly file: string }, options: DocumentOptions,
): Promise<AddedDocument> {
  const { id: documentId, title, sourceUrl, author } = options;
  let { path, time } = options;
  let body: string | Uint8Array;
  if (typeof content === "string" || content instanceof Uint8Array) {
    body = content;
  } else {
    const loaded = await caller.platform.load(content.file);
    body = loaded.bytes;
    path ??= content.file.replaceAll("\\", "/");
    time ??= loaded.changed;
  }
  const referenceTime = timestamp(time ?? caller.runtime.now());
  const item = create(DocumentItemSchema, { documentId, title, sourceUrl, author, path, referenceTime });
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  item.content = typeof body === "string" ? { case: "text", value: body } : { case: "data", value: body };
  if (bytes.length > WHOLE_BYTES) return inParts(caller, groupId, item, bytes, options);
  const output = await caller.call(options, (requestId, sent) =>
    caller.ingestion.addDocuments({ requestId, input: { groupId, documents: [item] } }, sent),
  );
  return addedDocument(output.documents[0]!);
}

async function inParts(
  caller: Caller, groupId: string, item: DocumentItem, bytes: Uint8Array, options: CallOptions,
): Promise<AddedDocument> {
  item.content = item.content.case === "text" ? { case: "text", value: "" } : { case: "data", value: new Uint8Array() };

  async function* parts() {
    yield { groupId, document: item };
    for (let at = 0; at < bytes.length; at += PART_BYTES) {
      yield { more: bytes.subarray(at, at + PART_BYTES), last: at + PART_BYTES >= bytes.length };
    }
  }

  const added: AddedDocument[] = [];
  await caller.each(
    { timeoutMs: WAIT_MS, ...options },
    async function* (_, sent) {
      for await (const { document, error } of caller.ingestion.streamDocuments(parts(), sent)) {
        yield { output: document, error };
      }
    },
    (document) => added.push(addedDocument(document)),
  );
  if (added[0] === undefined) throw failure("INTERNAL", "the service ended without an answer");
  return added[0];
}
