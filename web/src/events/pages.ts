// Rows of a list that is too long to fetch as a whole. Pages are fetched as they come into sight and kept
// while there is room. An old version of a page stays in sight until the newer one arrives.
//
// Only one request is in flight at a time. Among the pages in sight, those nearest the middle come first, so
// that fast scrolling never builds a queue. When the question changes (`reset`), the request in flight is
// cancelled.

/** The answer for a page of the list. */
export interface Answer<Row> {
  total: number;
  offset: number;
  rows: Row[];
}

export interface PageOptions<Row, A extends Answer<Row>> {
  size?: number; // rows of a page
  keep?: number; // pages kept
  ask: (offset: number, limit: number, signal: AbortSignal) => Promise<A>;
  changed: (answer: A | null, error: unknown) => void; // there is something new to show
}

interface Page<Row> {
  rows: Row[];
  age: number; // of the version that it belongs to
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
  // the last request for this version failed: do not ask again until something changes
  private failed = false;
  total = 0;

  constructor(private readonly options: PageOptions<Row, A>) {
    this.size = options.size ?? 200;
    this.keep = options.keep ?? 60;
  }

  /** The row, or undefined if it has not arrived yet. */
  row(i: number): Row | undefined {
    return this.pages.get(Math.floor(i / this.size))?.rows[i % this.size];
  }

  /** Tells the list which rows are in sight: [from, to). */
  want(from: number, to: number): void {
    this.wanted = [Math.max(0, from), Math.max(from + 1, to)];
    this.failed = false;
    this.next();
  }

  /** Another question: the old answers no longer apply. */
  reset(): void {
    this.pages.clear();
    this.total = 0;
    this.refresh();
  }

  /** A newer version of the same list: the rows here are shown until they are fetched again. */
  refresh(): void {
    this.age++;
    this.failed = false;
    this.running?.abort();
    this.running = undefined;
    this.next();
  }

  /** Cancels the request in flight. */
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
    // Before the first answer the length is unknown; afterwards nothing is beyond the end.
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
