// One run of `stream`: the caller's items are read while streams of the service, one after the other, take them.
import { answers, type Caller, type CallOptions } from "./calls.js";
import { failure, KgsvcError } from "./errors.js";
import type { Addable, Converter } from "./items.js";
import type { Report } from "./values.js";
import { Window, type Request } from "./window.js";

type Items = Iterable<Addable> | AsyncIterable<Addable>;

const late = () => failure("DEADLINE_EXCEEDED", "nothing was answered in time");

export class Sending {
  private readonly window = new Window();
  private readonly attempts;
  private readonly timeoutMs: number;
  private readonly stopping = new AbortController();
  private ending = new AbortController(); // of the stream that is open
  private waiters: (() => void)[] = [];
  private failed: unknown; // for good
  private last: KgsvcError | undefined; // that may pass
  private before = 0;
  private interrupt: (() => void) | undefined;

  constructor(private readonly caller: Caller, private readonly groupId: string, private readonly options: CallOptions) {
    this.attempts = caller.attempts(Infinity, Infinity);
    this.timeoutMs = options.timeoutMs ?? caller.timeoutMs;
  }

  async run(items: Items, converter: Converter): Promise<Report> {
    const { signal } = this.options;
    const aborted = () => this.fail(signal?.reason);
    signal?.throwIfAborted();
    signal?.addEventListener("abort", aborted);
    const work = this.work();
    try {
      for await (const item of this.each(items)) {
        const sent = converter.sent(item);
        if (sent === undefined) continue;
        await this.until(() => this.window.hasRoom);
        this.window.put(this.groupId, sent);
        this.changed();
      }
      this.window.close();
      this.changed();
      await this.until(() => this.window.done);
      return this.window.report;
    } finally {
      signal?.removeEventListener("abort", aborted);
      this.stopping.abort();
      this.changed();
      await work;
    }
  }

  /** The caller's items, until the stream has failed: an item that does not come must not hide that. */
  private async *each(items: Items): AsyncGenerator<Addable, void, undefined> {
    const iterator = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
    let done: boolean | undefined = false;
    try {
      for (;;) {
        this.check();
        const result = await new Promise<IteratorResult<Addable>>((resolve, reject) => {
          this.interrupt = () => reject(this.failed);
          Promise.resolve(iterator.next()).then(resolve, reject);
        });
        done = result.done;
        if (done) return;
        yield result.value;
      }
    } finally {
      this.interrupt = undefined;
      if (!done) Promise.resolve(iterator.return?.()).catch(() => undefined); // why the stream ends is told already
    }
  }

  private changed(): void {
    const woken = this.waiters;
    this.waiters = [];
    woken.forEach((wake) => wake());
  }

  private readonly change = () => new Promise<void>((resolve) => this.waiters.push(resolve));

  private fail(reason: unknown): void {
    this.failed ??= reason;
    this.stopping.abort();
    this.interrupt?.();
    this.changed();
  }

  private check(): void {
    if (this.failed !== undefined) throw this.failed;
  }

  /**
   * Waits. Throws when the stream failed, or nothing was answered for too long. After a third of that the open stream is
   * left for the next: Node does not always tell a stream that its connection is lost.
   */
  private async until(reached: () => boolean): Promise<void> {
    this.check();
    for (let silent = 0; !reached(); ) {
      const { answered } = this.window;
      const timer = new AbortController();
      let slept = false;
      const ended = this.caller.runtime.sleep(this.timeoutMs / 3, timer.signal).then(() => ((slept = true), this.changed()));
      while (!reached() && this.failed === undefined && this.window.answered === answered && !slept) await this.change();
      timer.abort();
      const tooLate = slept;
      await ended;
      this.check();
      silent = tooLate && this.window.answered === answered ? silent + 1 : 0;
      if (silent === 3 && !reached()) throw this.stalled();
      if (silent > 0) this.ending.abort();
    }
  }

  /** Nothing was answered for too long: since the last stream broke, or on streams that were open. */
  private stalled(): KgsvcError {
    return this.last !== undefined && this.window.answered === this.before ? this.last : late();
  }

  /** One stream after the other, until everything is answered. */
  private async work(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      let broken: KgsvcError | undefined;
      try {
        this.caller.check();
        await this.exchange();
      } catch (thrown) {
        if (signal.aborted) return;
        try {
          broken = thrown instanceof KgsvcError ? thrown : this.caller.error(thrown);
          if (broken !== thrown && this.ending.signal.aborted) broken = late();
        } catch (fault) {
          return this.fail(fault);
        }
      }
      if (this.window.answered > this.before) this.attempts.progressed();
      this.before = this.window.answered;
      if (this.window.done) return this.changed();
      this.last = broken ?? failure("BROKEN", "the service ended the stream too early");
      try {
        await this.caller.runtime.sleep(this.attempts.pauseMs(this.last), signal);
      } catch (hopeless) {
        return this.fail(hopeless);
      }
    }
  }

  /** One stream until its end. */
  private async exchange(): Promise<void> {
    this.window.reopened();
    this.ending = new AbortController();
    const open = (signal: AbortSignal) => {
      signal.addEventListener("abort", () => this.changed());
      return this.caller.ingestion.streamEpisodes(this.requests(signal), { signal });
    };
    for await (const answer of answers(open, AbortSignal.any([this.stopping.signal, this.ending.signal]))) {
      this.window.answer(answer);
      this.changed();
    }
  }

  /** What this stream sends. */
  private async *requests(ended: AbortSignal): AsyncGenerator<Request, void, undefined> {
    for (;;) {
      while (!ended.aborted && !this.window.sends && !this.window.ends) await this.change();
      if (ended.aborted || !this.window.sends) return;
      yield this.window.next();
    }
  }
}
