// What this package gives, wherever it runs.
export type { CallOptions } from "./calls.js";
export type { ClientOptions, Runtime } from "./connection.js";
export * from "./errors.js";
export { Group } from "./group.js";
export type { AddOptions, AsOf, Forgettable, SearchOptions } from "./group.js";
export type { Addable, ChatMessage, ContentPart, Note } from "./items.js";
export type { DocumentOptions } from "./uploading.js";
export type * from "./values.js";
