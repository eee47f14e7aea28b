// What only Node has: a channel of gRPC, and files.
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { readFileSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import type { Connection } from "./connection.js";
import type { Platform } from "./calls.js";

const MIB = 1024 * 1024;
const KEEPALIVE = { pingIntervalMs: 30_000, pingTimeoutMs: 10_000 };

export const NODE: Platform = {
  environment: process.env,

  channel(connection: Connection) {
    const baseUrl = `${connection.tls ? "https" : "http"}://${connection.address}`;
    const pem = (path: string) => (path ? readFileSync(path) : undefined);
    const { ca, cert, key, name, interceptors } = connection;
    const secrets = Object.entries({ ca: pem(ca), cert: pem(cert), key: pem(key), servername: name || undefined });
    const given = Object.fromEntries(secrets.filter(([, value]) => value !== undefined));
    const sessionManager = new Http2SessionManager(baseUrl, KEEPALIVE, given);
    const transport = createGrpcTransport({ baseUrl, sessionManager, interceptors, readMaxBytes: 8 * MIB });
    return { transport, close: () => sessionManager.abort() };
  },

  async load(path: string) {
    const [bytes, { mtime }] = await Promise.all([readFile(path), stat(path)]);
    return { bytes, changed: mtime };
  },
};
