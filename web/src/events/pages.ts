// Rows of a list that is too long to be fetched whole: pages are asked for as they come into sight, kept
// while there is room, and shown on, though old, until their newer version is there.
//
// One question at a time is under way; of the pages in sight the ones nearest the middle come first, so
// that fast scrolling never makes a queue. When the question changes (`reset`) what is under way is given
// up.

/** What a page of the list is answered with. */
export interface Answer<Row> {
  total: number;
  offset: number;
  rows: Row[];
}

export interface PageOptions<Row, A extends Answer<Row>> {
  size?: number; // rows of a page
  keep?: number; // pages kept
  ask: (offset: number, limit: number, signal: AbortSignal) => Promise<A>;
  changed: (answer: A | null, error: unknown) => void; // something new can be shown
}

interface Page<Row> {
  rows: Row[];
  age: number; // of the version it was answered for
  used: number;
}

export class Pages<Row, A extends Answer<Row>> {
  readonly size: number;
  private readonly keep: number;
  private pages = new Map<number, Page<Row>>();
  private age = 0;
  private clock = 0;
  private wanted: [from: number, to: number] = [0, 1];
  private running: AbortController | undefined;
  // the last question for this version failed: not asked again until something changes
  private failed = false;
  total = 0;

  constructor(private readonly options: PageOptions<Row, A>) {
    this.size = options.size ?? 200;
    this.keep = options.keep ?? 60;
  }

  /** The row, undefined where it is not here yet. */
  row(i: number): Row | undefined {
    return this.pages.get(Math.floor(i / this.size))?.rows[i % this.size];
  }

  /** Tells which rows are in sight: [from, to). */
  want(from: number, to: number): void {
    this.wanted = [Math.max(0, from), Math.max(from + 1, to)];
    this.failed = false;
    this.next();
  }

  /** Another question: nothing of the old answers holds. */
  reset(): void {
    this.pages.clear();
    this.total = 0;
    this.refresh();
  }

  /** A newer version of the same: what is here is shown until it is asked for again. */
  refresh(): void {
    this.age++;
    this.failed = false;
    this.running?.abort();
    this.running = undefined;
    this.next();
  }

  /** Ends what is under way. */
  close(): void {
    this.running?.abort();
    this.running = undefined;
    this.failed = true;
  }

  private missing(): number | undefined {
    const [from, to] = this.wanted;
    const first = Math.floor(from / this.size);
    const last = Math.floor(Math.max(from, to - 1) / this.size);
    const middle = (from + to) / 2 / this.size - 0.5;
    let best: number | undefined;
    for (let p = first; p <= last; p++) {
      const page = this.pages.get(p);
      if (page) page.used = ++this.clock;
      if (page?.age === this.age) continue;
      if (best === undefined || Math.abs(p - middle) < Math.abs(best - middle)) best = p;
    }
    // Before the first answer the length is not known; afterwards nothing is behind the end.
    if (best !== undefined && best > 0 && this.total > 0 && best * this.size >= this.total) return undefined;
    return best;
  }

  private next(): void {
    if (this.running || this.failed) return;
    const page = this.missing();
    if (page === undefined) return;
    const running = new AbortController();
    this.running = running;
    const age = this.age;
    this.options.ask(page * this.size, this.size, running.signal).then(
      (answer) => {
        if (running.signal.aborted) return;
        this.running = undefined;
        this.total = answer.total;
        this.pages.set(page, { rows: answer.rows, age, used: ++this.clock });
        this.drop();
        this.options.changed(answer, null);
        this.next();
      },
      (error: unknown) => {
        if (running.signal.aborted) return;
        this.running = undefined;
        this.failed = true;
        this.options.changed(null, error);
      },
    );
  }

  private drop(): void {
    if (this.pages.size <= this.keep) return;
    const old = [...this.pages].sort((a, b) => a[1].used - b[1].used).slice(0, this.pages.size - this.keep);
    for (const [p] of old) this.pages.delete(p);
  }
}
