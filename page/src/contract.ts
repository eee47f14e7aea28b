// The contract's messages as JSON, by the OpenAPI document that is made from it. Fields at their default are left out.
import type { components, paths } from "../build/contract";

type Schemas = components["schemas"];
export type EntityNode = Schemas["EntityNode"];
export type Episode = Schemas["Episode"];
export type FactResult = Schemas["FactResult"];
export type FoundBy = Schemas["FoundBy"];
export type WatchGroupOutput = Schemas["WatchGroupOutput"];
export type GroupSummary = Schemas["GroupSummary"];
export type ListedItem = Schemas["ListedItem"];
export type ItemState = Schemas["ItemState"];
export type Document = Schemas["Document"];
export type DocumentChunk = Schemas["DocumentChunk"];
export type DocumentRevision = Schemas["DocumentRevision"];
export type Merge = Schemas["Merge"];
export type Community = Schemas["Community"];
export type SearchGraphInput = Schemas["SearchGraphInput"];
export type SearchGraphOutput = Schemas["SearchGraphOutput"];
export type SearchScope = Schemas["SearchScope"];

export type Path = keyof paths;
type Content<T> = T extends { content: { "application/json": infer J } } ? J : never;
type Sent<P extends Path> = Content<paths[P]["post"]["requestBody"]>;
type Told<P extends Path> = Content<paths[P]["post"]["responses"][200]>;
export type Input<P extends Path> = Sent<P> extends { input?: infer I } ? NonNullable<I> : never;
export type Output<P extends Path> = Told<P> extends { output?: infer O } ? NonNullable<O> : never;
