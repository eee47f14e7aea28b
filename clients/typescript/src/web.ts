// The same client where there is no Node: the caller brings the transport.
import type { Platform } from "./calls.js";
import { BaseClient } from "./client.js";
import type { ClientOptions } from "./connection.js";

export * from "./exports.js";

const WEB: Platform = {
  environment: {},
  channel() {
    throw new TypeError("name a transport: new Client({ transport: createConnectTransport({ baseUrl }) })");
  },
  load: () => Promise.reject(new TypeError("there are no files: give a text or bytes")),
};

/** A service, reached by a transport. */
export class Client extends BaseClient {
  constructor(options: ClientOptions = {}) {
    super(options, WEB);
  }
}
