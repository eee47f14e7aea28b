// Why a call failed, as classes; docs/contract.md of the service says what each code means.
import { fromBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "./gen/kgsvc_client/rpc_status_pb.js";

/** A field of a request that was not acceptable, by its path, such as `input.items[2].body`. */
export interface Violation {
  readonly field: string;
  readonly description: string;
}

/** What is known of a failure besides its code. */
export interface FailureDetails {
  requestId?: string | undefined;
  fields?: readonly Violation[];
  retryAfterMs?: number | undefined;
  cause?: unknown;
}

/** A call that failed. `code` is one of the service's, or one that Unreachable or OlderService names. */
export class KgsvcError extends Error {
  readonly code: string;
  /** Names the call in the service's log. */
  readonly requestId: string;
  /** Every field of the request that was wrong. */
  readonly fields: readonly Violation[];
  /** How long to wait before trying again, if the service says so. */
  readonly retryAfterMs: number | undefined;
  /** Whether the same call may succeed later. */
  readonly retryable: boolean = false;

  constructor(code: string, message: string, details: FailureDetails = {}) {
    super(message, { cause: details.cause });
    this.name = new.target.name;
    this.code = code;
    this.requestId = details.requestId ?? "";
    this.fields = details.fields ?? [];
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** The service does not take the input: INVALID_ARGUMENT, LIMIT_EXCEEDED, MALFORMED_REQUEST. */
export class InvalidInput extends KgsvcError {}

/** The thing named does not exist. */
export class NotFound extends KgsvcError {}

/** It exists already with other content, or several groups have the uuid. */
export class Conflict extends KgsvcError {}

/**
 * The token is missing or not valid (any more), UNAUTHENTICATED, or does not grant this, PERMISSION_DENIED; or an operator
 * has switched writes off, READ_ONLY.
 */
export class AccessDenied extends KgsvcError {}

/** INTERNAL, or a code that this client does not know. */
export class ServiceFault extends KgsvcError {}

/** UNIMPLEMENTED: the service does not know the operation, its contract is older than this client's. */
export class OlderService extends KgsvcError {}

/**
 * The service cannot do it at the moment: OVERLOADED, QUOTA_EXCEEDED, SHUTTING_DOWN, STORE_UNAVAILABLE,
 * EMBEDDER_UNAVAILABLE, MODEL_UNAVAILABLE.
 */
export class Unavailable extends KgsvcError {
  override readonly retryable = true;
}

/** No service answers (UNREACHABLE), or the connection broke (BROKEN, CANCELLED). */
export class Unreachable extends Unavailable {}

/** No answer in time; a write may have happened, and sending it again with the same uuids is safe. */
export class DeadlineExceeded extends KgsvcError {
  override readonly retryable = true;
}

type Kind = new (code: string, message: string, details?: FailureDetails) => KgsvcError;
const KINDS = new Map<string, Kind>();
for (const [kind, codes] of [
  [InvalidInput, "INVALID_ARGUMENT LIMIT_EXCEEDED MALFORMED_REQUEST"],
  [NotFound, "NOT_FOUND"],
  [Conflict, "CONFLICT"],
  [AccessDenied, "UNAUTHENTICATED PERMISSION_DENIED READ_ONLY"],
  [Unavailable, "OVERLOADED QUOTA_EXCEEDED SHUTTING_DOWN STORE_UNAVAILABLE EMBEDDER_UNAVAILABLE MODEL_UNAVAILABLE"],
  [DeadlineExceeded, "DEADLINE_EXCEEDED"],
  [Unreachable, "UNREACHABLE BROKEN CANCELLED"],
  [OlderService, "UNIMPLEMENTED"],
] as const) {
  for (const code of codes.split(" ")) KINDS.set(code, kind);
}

// What Connect says where the service said nothing: streams and connections that broke have several codes.
const SAID_BY_CONNECT: Partial<Record<Code, string>> = {
  [Code.Aborted]: "BROKEN", [Code.Internal]: "BROKEN", [Code.Unknown]: "BROKEN", [Code.DataLoss]: "BROKEN",
  [Code.Unavailable]: "UNREACHABLE", [Code.Canceled]: "CANCELLED", [Code.ResourceExhausted]: "LIMIT_EXCEEDED", // too large
};

/** The error for a code. */
export function failure(code: string, message: string, details: FailureDetails = {}): KgsvcError {
  return new (KINDS.get(code) ?? ServiceFault)(code, message, details);
}

/** The error for what a call of Connect threw. */
export function fromConnect(thrown: unknown, address: string, requestId = ""): KgsvcError {
  const status = ConnectError.from(thrown);
  const code = status.metadata.get("kgsvc-error-code") ?? SAID_BY_CONNECT[status.code] ?? upper(Code[status.code]);
  let said = status.rawMessage;
  if (code === "UNREACHABLE") said = `no service answers at ${address}: ${said}`;
  else if (code === "UNIMPLEMENTED") said = `${address} does not know this operation: is it older than this client?`;
  return failure(code, said, { requestId, cause: thrown, ...detailsOf(status) });
}

const upper = (name: string): string => name.replace(/\B[A-Z]/g, "_$&").toUpperCase();

function detailsOf(status: ConnectError): FailureDetails {
  const found: FailureDetails = {};
  for (const detail of status.details) {
    if (!("type" in detail) || !(detail.value instanceof Uint8Array)) continue;
    if (detail.type === "google.rpc.ErrorInfo") {
      const named = fromBinary(ErrorInfoSchema, detail.value).metadata["request_id"];
      if (named) found.requestId = named;
    } else if (detail.type === "google.rpc.BadRequest") {
      const wrong = fromBinary(BadRequestSchema, detail.value).fieldViolations;
      found.fields = wrong.map(({ field, description }) => ({ field, description }));
    } else if (detail.type === "google.rpc.RetryInfo") {
      const delay = fromBinary(RetryInfoSchema, detail.value).retryDelay;
      found.retryAfterMs = Number(delay?.seconds ?? 0) * 1_000 + (delay?.nanos ?? 0) / 1e6;
    }
  }
  return found;
}
