// The driver of clients/scenarios for TypeScript; see the README there. Started as `SETUP SCENARIOS`.
import { readFileSync } from "node:fs";
import { get } from "node:http";
import { parseArgs } from "node:util";
import { Client, KgsvcError, type Changes, type Group } from "kgsvc-client";

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
type Fields = Record<string, Json>;
interface Step extends Fields {
  do: string;
}
interface Scenario {
  name: string;
  world?: string;
  token?: string;
  timeout_s?: number;
  steps: Step[];
}
interface Setup {
  worlds: Record<string, { server: string; tls_ca?: string; tokens?: Record<string, string> }>;
  control: string;
  group: string;
}

const OURS = new Set(["do", "as", "expect", "error", "contains", "distinct", "grows_mib", "repeat"]);
const TIMES = new Set(["time", "as_of", "known_as_of"]);
const FIRST = ["items", "query", "content", "receipt", "uuid", "fact", "id", "cursor"]; // are no options

/** What is not as expected. */
class Problem extends Error {}

const camel = (name: string) => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** A result as JSON has it. */
function plain(value: unknown): Json {
  if (value instanceof Date) return value.toISOString().replace(".000Z", "Z");
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Map) return [...value.values()].map(plain);
  if (typeof value !== "object" || value === null) return (value ?? null) as Json;
  const fields = Object.fromEntries(Object.entries(value).map(([name, each]) => [snake(name), plain(each)]));
  if ("parked" in fields) return { states: (fields["items"] as Fields[]).map((item) => item["state"] ?? null) };
  return fields;
}

/** Throws Problem where the result lacks something. */
function check(expected: Json, found: Json | undefined, where = "result"): void {
  if (Array.isArray(expected)) {
    if (!Array.isArray(found) || found.length !== expected.length) {
      throw new Problem(`${where} is ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`);
    }
    expected.forEach((each, number) => check(each, found[number], `${where}[${number}]`));
  } else if (typeof expected === "object" && expected !== null) {
    for (const [name, each] of Object.entries(expected)) check(each, (found as Fields)?.[name], `${where}.${name}`);
  } else if (expected !== found) {
    throw new Problem(`${where} is ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`);
  }
}

function refused(expected: Fields, error: KgsvcError): void {
  check(expected["code"] ?? null, error.code, `code (${error.message})`);
  if ("fields" in expected) check(expected["fields"] ?? null, error.fields.map(({ field }) => field), "fields");
  if ("request_id" in expected && !error.requestId) throw new Problem("no request id");
  if ("retry_after" in expected && !error.retryAfterMs) throw new Problem("no delay is named");
}

/** What the process holds, in MiB, without what is garbage. */
function held(): number {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 2 ** 20;
}

class Driver {
  private kept: Record<string, unknown> = {};
  private most = 0; // that was held while a stream ran

  constructor(private readonly setup: Setup) {}

  /** Why it failed; null: it did not. */
  async scenario(number: number, { world = "open", token, timeout_s = 30, steps }: Scenario): Promise<string | null> {
    const { server, tls_ca: tlsCa, tokens = {} } = this.setup.worlds[world]!;
    const client = new Client({ server, tlsCa, token: token && tokens[token], timeoutMs: timeout_s * 1_000 });
    this.kept = {};
    try {
      for (const [at, step] of steps.entries()) {
        try {
          await this.step(client.group(`${this.setup.group}-${number}`), step);
        } catch (problem) {
          if (!(problem instanceof Problem)) throw problem;
          return `step ${at}, ${step.do}: ${problem.message}`;
        }
      }
    } finally {
      client.close();
    }
    return null;
  }

  private async step(group: Group, step: Step): Promise<void> {
    const before = (this.most = held());
    let result: unknown;
    try {
      result = await this.result(group, step);
    } catch (error) {
      if (!(error instanceof KgsvcError)) throw error;
      if (step["error"] === undefined) throw new Problem(`failed: ${error} ${error.code} ${error.fields}`);
      return refused(step["error"] as Fields, error);
    }
    if ("error" in step) throw new Problem(`did not fail, but answered ${JSON.stringify(plain(result))}`.slice(0, 400));
    const grown = this.most - before;
    if (grown > Number(step["grows_mib"] ?? grown)) throw new Problem(`the process grew by ${grown} MiB`);
    this.kept[String(step["as"])] = result;
    if ("expect" in step) check(this.filled(step["expect"]!) as Json, plain(result));
    if ("contains" in step && !String(result).includes(String(step["contains"]))) {
      throw new Problem(`${result} does not contain ${step["contains"]}`);
    }
    if ("distinct" in step) {
      const entries = (result as object[]).map((each) => JSON.stringify(each));
      const found = [entries.length, new Set(entries).size];
      if (found.some((count) => count !== step["distinct"])) throw new Problem(`there are ${found} entries`);
    }
  }

  private async result(group: Group, step: Step): Promise<unknown> {
    const given = this.arguments(step);
    const [first] = FIRST.filter((name) => name in given).map((name) => given[name]);
    const options = Object.fromEntries(Object.entries(given).filter(([name]) => !FIRST.includes(name)));
    switch (step.do) {
      case "control":
        return this.control(String(step["action"]));
      case "stream":
        return group.stream(this.items(step), options);
      case "follow":
        return this.followed(group, first as string | undefined);
      case "forget":
        return group.forget(given as { episode: string });
      case "addDocument":
      case "add_document":
        return group.addDocument(first as string, { ...options, id: given["id"] as string });
      case "documents":
      case "items":
      case "episodes": {
        const listed: unknown[] = [];
        for await (const each of group[step.do](options)) listed.push(each);
        return listed;
      }
      default: {
        const method = group[camel(step.do) as "search"] as (first: unknown, options: object) => Promise<unknown>;
        return method.call(group, first, options);
      }
    }
  }

  private arguments(step: Step): Record<string, unknown> {
    const given: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(step)) {
      if (OURS.has(name)) continue;
      const filled = this.filled(value);
      given[camel(name)] = TIMES.has(name) ? new Date(filled as string) : filled;
    }
    if ("repeat" in step) given["content"] = String(given["content"]).repeat(Number(step["repeat"]));
    return given;
  }

  /** With `$name.part` as it was kept. */
  private filled(value: Json): unknown {
    if (Array.isArray(value)) return value.map((each) => this.filled(each));
    if (typeof value === "object" && value !== null) {
      return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, this.filled(each)]));
    }
    if (typeof value !== "string" || !value.startsWith("$")) return value;
    const [name, ...parts] = value.slice(1).split(".") as [string, ...string[]];
    return parts.reduce((found, part) => (found as Record<string, unknown>)[camel(part)], this.kept[name]);
  }

  private async *items(step: Step): AsyncGenerator<string> {
    if ("items" in step) return yield* step["items"] as string[];
    const actions = (step["at"] ?? {}) as Record<string, string>;
    const padding = () => Buffer.alloc(Number(step["padding"] ?? 0), "x").toString("latin1"); // bytes of its own
    for (let number = 0; number < Number(step["count"]); number += 1) {
      const action = actions[number];
      if (action !== undefined) await this.control(action);
      if (number % 500 === 0) this.most = Math.max(this.most, held());
      yield `${step["text"]}${padding()}`.replace("{n}", String(number));
    }
  }

  private control(action: string): Promise<void> {
    return new Promise((resolve, reject) => {
      get(`${this.setup.control}/${action}`, (answer) => answer.resume().on("end", resolve)).on("error", reject);
    });
  }

  /** What is told until there is no more. */
  private async followed(group: Group, cursor: string | undefined): Promise<unknown> {
    const told: Changes[] = [];
    for await (const changes of group.follow(cursor)) {
      told.push(changes);
      if (changes.current) break;
    }
    return {
      reset: told[0]?.reset,
      facts: told.flatMap(({ facts }) => facts.map(({ text }) => text)),
      removedFacts: told.reduce((sum, { removedFacts }) => sum + removedFacts.length, 0),
      cursor: told.at(-1)?.cursor,
    };
  }
}

const { positionals } = parseArgs({ allowPositionals: true });
const [setup, scenarios] = positionals.map((path) => JSON.parse(readFileSync(path, "utf8"))) as [Setup, Scenario[]];
const driver = new Driver(setup);
for (const [number, scenario] of scenarios.entries()) {
  const problem = await driver.scenario(number, scenario);
  if (problem !== null) process.exitCode = 1;
  console.log(JSON.stringify({ name: scenario.name, problem }));
}
