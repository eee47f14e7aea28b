// A client of kgsvc, a memory service, for Node: what was said, what is known, and what was true when.
import { BaseClient } from "./client.js";
import type { ClientOptions } from "./connection.js";
import { NODE } from "./node.js";

export * from "./exports.js";

/**
 * A service, reached over one connection, which is made with the first call. What is left out of the options is read
 * from KGSVC_SERVER, KGSVC_TOKEN, KGSVC_TLS_CA, KGSVC_TLS_CERT, KGSVC_TLS_KEY and KGSVC_TLS_NAME.
 */
export class Client extends BaseClient {
  constructor(options: ClientOptions = {}) {
    super(options, NODE);
  }
}
