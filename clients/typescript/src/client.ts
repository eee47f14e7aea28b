// A service, reached over one connection.
import { Caller, type CallOptions, type Platform } from "./calls.js";
import type { ClientOptions } from "./connection.js";
import { Group } from "./group.js";
import { groupSummary, health, type GroupSummary, type Health } from "./values.js";

/** A service. It connects with the first call; `close` it when nothing is to be called any more. */
export class BaseClient {
  /** The stubs of the contract, for what this client has no word for. They say who calls; nothing is tried again. */
  readonly ingestion: Caller["ingestion"];
  readonly retrieval: Caller["retrieval"];
  readonly admin: Caller["admin"];
  private readonly caller: Caller;

  constructor(options: ClientOptions, platform: Platform) {
    this.caller = new Caller(options, platform);
    ({ ingestion: this.ingestion, retrieval: this.retrieval, admin: this.admin } = this.caller);
  }

  /** The memory of a tenant. */
  group(id: string): Group {
    return new Group(this.caller, id);
  }

  /** The groups that the caller may read. */
  groups(options: CallOptions = {}): AsyncGenerator<GroupSummary, void, undefined> {
    return this.caller.pages(
      options,
      (pageToken, { requestId, ...sent }) => this.caller.admin.listGroups({ requestId, input: { pageToken } }, sent),
      (page) => page.groups.map(groupSummary),
    );
  }

  /** What the service runs on. */
  async health(options: CallOptions = {}): Promise<Health> {
    return health(
      await this.caller.call(options, (requestId, sent) => this.caller.admin.healthcheck({ requestId, input: {} }, sent)),
    );
  }

  /** Ends the connection and all calls. */
  close(): void {
    this.caller.close();
  }
}
