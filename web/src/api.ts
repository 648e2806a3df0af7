// The server's answers, and how to ask for them. Times are integer nanoseconds since the start of the run (a
// number holds 104 days exactly); sizes are bytes. A CF is named "node.counter" as in the trace; a DF by an
// opaque key. Every query about a run takes the parameters of the address bar as they are. A wrong parameter
// is answered with status 400 and {"error": "..."}.

export type State = "live" | "done" | "failed" | "stuck" | "interrupted" | "killed";
export type Lang = "en" | "ru";

/** GET /api/runs: RunSummary[], newest first. SSE /api/updates: the same, whenever it changes. */
export interface RunSummary {
  id: string;
  program: string;
  args: string[];
  started: string; // RFC 3339; "": unknown
  state: State;
  nodes: number;
  workers: number; // on all nodes
  wall_ns: number;
  events: number;
  lost: number; // events known to be lost
  bytes: number; // on disk
  path: string; // folder of the trace
  version: number; // grows with everything that arrives; answers are about the newest
  removable: boolean; // DELETE /api/runs/ID removes it from the disk
  debugged: boolean; // /api/debug/ answers: it is debugged from the page
}

/** GET /api/runs/ID */
export interface Run extends RunSummary {
  lanes: Lane[]; // by number of the lane
  codes: Code[]; // by number; codes[0] is the unknown one
  info: { settings?: Record<string, string>; [more: string]: unknown }; // run.json
  kinds: { event: string; count: number }[]; // of events, standard and user-defined, most frequent first
  span: [number, number]; // in which single CFs can be shown; the whole run unless memory is short
}
export interface Lane { node: number; worker: number; host: string }
export interface Code { name: string; kind: "atomic" | "sub" | "call" | "for" | "while" | "if"; file: string;
  line: number; count: number }
/** GET /api/runs/ID/checks?lang: reasons to doubt the figures of a finished run; of a live one, CFs that do
 * not come back from user code. */
export interface Checks { warnings: string[]; problems: string[];
  balance: Violation[] /* what zero balance finds */ }
export interface Violation { node: number; link?: string; what: string; value: number; text: string }

/** SSE /api/runs/ID/updates, several times a second while the run is live, once otherwise. */
export interface Update { version: number; state: State; wall_ns: number; events: number; lost: number;
  snapshot_ns: number /* the newest snapshot has the run up to here */; sources: Source[] }
export interface Source { node: number; connected: boolean; lag_ns: number;
  unsent: number /* blocks that the sender had to drop */ }

/** GET /api/runs/ID/report?lang (the language of advice and warnings): like `whyslow report --json`. Only the
 * parts that the page uses are declared. */
export interface Report {
  program: string; ended: string; wall_ns: number; total_ns: number; extra_cores_ns: number;
  loss: { ns: number; events: number };
  factors: Factors;
  nodes: { node: number; host: string; total_ns: number; factors: Factors; workers: { worker: number;
    total_ns: number; factors: Factors }[] }[];
  fragments: { code: string; count: number; useful_ns: number; mean_ns: number; max_ns: number;
    caused: { S: number; L: number; O: number }; file: string; line: number }[];
  causes: { factor: string; part: string; producer: string; df: string; link: string; consumer: string;
    ns: number; count: number }[];
  advice: Advice[];
  forecast?: { off: number; why?: string /* no gain was simulated */ } | null;
  warnings: string[];
  pgas?: Patterns | null; // for programs with regions, otherwise null
  [more: string]: unknown;
}
/** The result of the search for patterns: amounts of metrics by call path and thread; exclusive along call
 * paths, inclusive along metrics. */
export interface Patterns {
  metrics: { id: string; name: string; parent: number; unit: "ns" | "occ" | "bytes"; doc: string;
    pattern?: number; reading?: string /* another definition of this metric, by id */; rows: { call: number;
    values: number[] /* by thread */ }[] | null }[];
  regions: { name: string; kind: string; file?: string; line?: number }[];
  calls: { parent: number; region: number; file?: string; line?: number }[]; // depth first
  threads: { node: number; stream: number; host?: string; calls: number; syncs: number; puts: number;
    gets: number; sends: number; receives: number; atomics: number; sent: number;
    received: number }[];
  causes: { thread: number; call: number; ns: number }[] | null; chained_ns: number;
  messages: { call: number; count: number; bytes: number; ns: number; runs: number;
    join_ns: number }[] | null;
  late: { metric: number; call: number; thread: number; ns: number; count: number; doing: { call: number;
    ns: number }[] | null }[] | null;
  locks: { id: number; name: string; file?: string; line?: number; acquired: number; contended: number;
    wait_ns: number; hold_ns: number; longest_ns: number; handover_ns: number; chain: number;
    blocks: { waiter: number; owner: number; ns: number; count: number }[] | null }[] | null;
  collectives: { call: number; kind: string; sync: string; count: number; bytes: number; ns: number;
    entry_ns: number; allsync_ns: number; exit_ns: number; after_barrier: number }[] | null;
  transfers: { call: number; count: number; bytes: number; ns: number; runs: number; overlap_ns: number }[]
    | null;
  problems: string[] | null;
}
/** GET /api/runs/ID/source?file: a source file that code fragments name, as it is beside the trace now. */
export interface Source { file: string; text: string; here: boolean /* it was found */ }
/** GET /api/runs/ID/waits?factors&parts&producer&consumer&code&df&link&place&lanes&from&to&limit&windows: the
 * waits behind a reason: all that fit, the longest of them first. factors "S,O", parts "dispatch,0->1", names
 * of code fragments and DFs; code: producer or consumer; place "b.upc:5": of the region the thread was in. */
export interface Waits { from: number; to: number; count: number; ns: number;
  windows: number[] /* ns, by equal windows */; rows: Wait[] }
export interface Wait { lane: number; from: number; to: number; factor: string; part: string;
  consumer: string; consumer_title: string; producer: string; producer_title: string; df_title: string;
  where: string /* the region, "upc_barrier, b.upc:5" */ }
export interface Share { ns: number; parts: Record<string, number>;
  measured_ns?: number /* of U: by threads' clocks */ }
export type Factors = Record<"U" | "S" | "L" | "O" | "W", Share | null>;
export interface Advice {
  id: string; title: string; text: string; gain: string; bound: string; share: number;
    evidence: Record<string, unknown>
  gain_ns: number; gain_wall_ns: number; gain_bytes?: number; blocking?: boolean
  predicted_wall_ns?: number; predicted?: string // by a simulation
}

/** GET /api/runs/ID/reasons?from&to&lang: why an interval is slow. What is known of the whole run only, and
 * what would have to be simulated, is not said of it. */
export interface Reason extends Advice { waits: Counted | null /* it counts none */ }
export interface Counted { factors?: string[]; parts?: string[]; producer?: string; consumer?: string;
  df?: string; link?: string; but_node?: number }
export interface Reasons { wall_ns: number; total_ns: number; advice: Reason[]; causes: Report["causes"];
  fragments: Report["fragments"] }
/** GET /api/runs/ID/factors?from&to&windows&lanes (lanes: "0-3,7", default all): time by factor, as slou
 * divides what has arrived by known_ns. */
export interface FactorWindows {
  from: number; to: number; window_ns: number; windows: number;
  known_ns: number; // the run is known up to here; later time is "undivided"
  rows: string[]; // "U", "S", "L", "O", "W", "loss", and "undivided": unknown, or not known yet
  total: number[][]; // by row, then window: nanoseconds
  lanes: { lane: number; sum: number[] }[]; // over the interval, by row
  nodes: { node: number; sum: number[]; windows: number[][] }[];
  sum: number[]; // over the interval and all lanes, by row
  extra_cores_ns: number; // in no window; part of O over the whole run
}

/** GET /api/runs/ID/tile?from&to&width&by&lanes; by: "code" or "factor". Binary, little-endian:
 *
 *     u32 number of lanes, u32 width
 *     for each lane: `width` classes (u16), then `width` shares (u8)
 *
 * A share says how much of the column is of its class, 0 to 255. Class 0: nothing known. By code: the number
 * of the code fragment whose CFs took most of the column, or FACTOR + factor if most of it was no CF. By
 * factor: FACTOR + factor. Factors are numbered U 1, S 2, L 3, O 4, W 5, loss 6. */
export const FACTOR = 0xff00;

/** GET /api/runs/ID/shades?by: other classes of CFs, for tiles and boxes that are asked for with the same
 * `by`.
 * "origin": class n is of CFs that node n-1 created. "late": time from ready to the first start, ns.
 * "value.weight" and "value.EVENT.FIELD": a number of the program's own, told while the CF ran. Class 0 is
 * unknown, class i of numbers from edges[i-1] to edges[i]. */
export interface Shades { by: string; edges: number[] }

/** GET /api/runs/ID/marks: what people have noted, in order of time. PUT and DELETE /api/runs/ID/marks/KEY
 * keep
 * and forget one; the key is of letters a to z and digits. */
export interface Mark { key: string; from: number; to: number /* as from: a moment */; text: string }

/** GET /api/runs/ID/boxes?from&to&lanes&limit&by: single CFs and gaps. If there are more than limit (default
 * 10000), only `more` is set. */
export interface Boxes {
  from: number; to: number; more: number; // > 0: how many there are; ask for a shorter interval or a tile
  cfs: { lane: number[]; start: number[]; end: number[]; cf: string[]; code: number[]; label: string[];
    structured: number[] /* 1: run by the system */; running: number[] /* 1: has not ended */;
    class: number[] /* by Shades; empty without */ };
  gaps: { lane: number[]; start: number[]; end: number[]; factor: string[]; part: string[];
    consumer: string[]; producer: string[]; df: string[]; consumer_title: string[]; producer_title: string[];
    df_title: string[] /* for people */ };
}

/** GET /api/runs/ID/arrows?from&to&lanes&limit (default 2000; the longest first), &inside=1: also inputs from
 * other lanes of a node; or ?cf=: everything that a CF waited for. */
export interface Arrows { more: number; arrows: Arrow[] }
export interface Arrow {
  // wait: from the producer of an input to its consumer, on any nodes; put, get, atomic: one-sided transfers,
  // whose time is that in the operation; message: from the call that sends it to that which receives it
  kind: "df" | "cf" | "request" | "wait" | "put" | "get" | "atomic" | "message";
  t0: number; t1: number; from_lane: number; to_lane: number; // -1: unknown; then the node
  from_node: number; to_node: number; what: string; df: string /* key, "" none */; bytes: number;
    producer: string; consumer: string; link: string;
  file: string; line: number; // where a transfer was asked for; "" and 0 of others
}

/** GET /api/runs/ID/regions?from&to&lanes&width: what threads entered, and collectives and locks of all of
 * them. What is shorter than the interval / width (default 1000) is merged with its neighbours. */
export interface Regions { from: number; to: number; depth: number /* of the deepest visit of the run */;
  places: Place[]; // where regions were called; places[0] is unknown
  visits: { lane: number[]; depth: number[] /* 0: in no other */; start: number[]; end: number[];
    place: number[]; count: number[] /* > 1: so many, the longest of them at the place */ };
  collectives: Band[]; collectives_more: number; locks: LockTrack[]; locks_more: number }
export interface Place { code: number; file: string; line: number; function: string }
export interface Band { kind: string; sync: string; root: number /* lane, -1 none */; place: number;
  members: { lane: number; from: number /* ready for the others */; to: number }[] }
export interface LockTrack { name: string; file: string; line: number; holds: Stays; waits: Stays }
export interface Stays { lane: number[]; start: number[]; end: number[]; count: number[] }

/** GET /api/runs/ID/path?from&to&limit: the critical path, in order of time. Steps shorter than the interval
 * / limit (default 10000) are merged. */
export interface CriticalPath { steps: { from: number; to: number; lane: number; factor: string; part: string;
  cf: string; title: string; code: number }[]; missing: string[] }

/** GET /api/runs/ID/cf/CF?lang: the story of a CF. */
export interface CFStory {
  cf: string; title: string; code: number; label: number[]; source: string; // file:line
  text: string; weight: number; atomic: boolean; state: "waiting" | "ready" | "running" | "finished"
    | "moving";
  created_ns: number | null; node: number; parent: string; parent_title: string;
  lines: { t: number; node: number; text: string; cf?: string; df?: string }[]; // in words, in order of time
  runs: { number: number; node: number; worker: number; lane: number; start: number; end: number | null;
    cpu_ns: number | null }[];
  total_ns: number; // of all runs
  cost: { S: number; L: number; O: number; W: number }; // of the gap before it, by factor
  inputs: DFRef[]; outputs: DFRef[]; children: CFRef[]; children_more: number;
}
export interface CFRef { cf: string; title: string }
export interface DFRef { df: string; title: string; bytes: number; producer: CFRef | null; consumers: CFRef[];
  consumers_more: number }
/** GET /api/runs/ID/df/DF?lang */
export interface DFStory { df: string; title: string; name: string; bytes: number; producer: CFRef | null;
  lines: CFStory["lines"]; consumers: CFRef[]; consumers_more: number; nodes: { node: number; from: number;
  to: number | null; bytes: number }[] }

/** GET /api/runs/ID/search?q&limit: by name, label ("mult[1][2]", "x[3]"), number. */
export interface Found { kind: "cf" | "df" | "code"; key: string; title: string; t: number | null;
  lane: number; more?: number }

/** GET /api/runs/ID/at?t: properties of nodes and links at a moment. A member is null if it was not
 * recorded. */
export interface At {
  t: number;
  nodes: NodeState[];
  links: LinkState[]; // links with any traffic up to t
  spread: Record<string, Spread>; // by property: how uneven the nodes are
  utilisation: number; // share of the workers that are running a CF, 0 to 1
}
export interface NodeState {
  node: number;
  cfs: number; copies: number; objects: number; // objects = CFs and copies of DFs here
  // relations with both ends here, with one end here
  bytes: number; inner: number | null; outer: number | null;
  running: number; workers: number; ready_queue: number | null; weight: number; waiting: number;
    ready: number;
  // over all links: DFs and CFs, puts, gets and atomics, up to the moment
  sent: number; sent_bytes: number; received: number; received_bytes: number;
}
export interface LinkState { from: number; to: number; objects: number; object_bytes: number;
  messages: number; message_bytes: number; data_messages: number; data_bytes: number;
  send_queue: number | null; in_flight: number;
  bytes_in_flight: number }
export interface Spread { min: number; max: number; mean: number;
  variation: number /* (max-min)/mean, 0 for mean 0 */ }

/** GET /api/runs/ID/series?names&nodes&links&from&to&points; names: "bytes,running"; nodes: "0,2", "all" or
 * "sum"; links: "0->1", "all" or "sum". &format=csv returns a table. GET /api/series: Property[], all there
 * are. */
export interface Property { name: string; of: "node" | "link"; unit: "count" | "bytes"; kind: "level"
  | "amount"; title: { en: string; ru: string }; doc: { en: string; ru: string } }
export interface SeriesAnswer { from: number; to: number; window_ns: number; series: Series[] }
export interface Series { name: string; node: number; link: string; // node -1 and link "": the sum
  // levels have the first four members; amounts have mean (per second) and sum
  mean: (number | null)[]; min?: number[]; max?: number[]; last?: number[]; sum?: number[];
}

/** GET /api/runs/ID/matrix?value&from&to; value: "objects", "object_bytes", "messages", "message_bytes",
 * "data_messages" and "data_bytes" (DFs, without CFs that moved), "send_queue" (its maximum), "flight_ns"
 * (mean), "bandwidth", "lost_ns" (time that workers waited for the link). */
export interface Matrix { value: string; unit: "count" | "bytes" | "ns" | "bytes/s"; nodes: number;
  cells: (number | null)[][] /* from, to */; max: number; total: number }

/** GET /api/runs/ID/events?offset|t&limit&kinds&nodes&link&code&cf&df&text&from&to&lang: rows from number
 * `offset` on, or from the first row at or after t. */
export interface EventPage { total: number; offset: number; rows: EventRow[];
  scanned: number /* share of the trace that was looked through, 1 = all; total is of that part */ }
export interface EventRow { t: number; node: number; stream: number; kind: string; text: string; cf?: string;
  neighbours?: string; /* of a created CF: DFs that it reads and makes */
  df?: string; cf_title?: string; df_title?: string }

/** GET /api/runs/ID/fragments?from&to */
export interface FragmentRow { code: number; name: string; count: number; total_ns: number; mean_ns: number;
  min_ns: number; p50_ns: number; p90_ns: number; p99_ns: number; max_ns: number; caused: { S: number;
  L: number; O: number }; before: { S: number; L: number; O: number; W: number }; atomic: boolean;
  file: string; line: number }
/** GET /api/runs/ID/fragments/CODE?from&to&bins&node: the distribution, and the CFs that took longest. */
export interface FragmentDetail { code: number; name: string; bins: { from: number; to: number;
  count: number }[]; by_node: { node: number; count: number; total_ns: number; mean_ns: number }[];
  longest: CFRow[]; cfs: number }
/** GET /api/runs/ID/fragments/CODE/cfs?sort&offset&limit&from&to; sort: "start", "-total", "-wait" or
 * "label". */
export interface CFPage { total: number; offset: number; rows: CFRow[] }
export interface CFRow { cf: string; title: string; node: number; lane: number; start: number; end: number
  | null; total_ns: number; wait_ns: number; runs: number; weight: number }
/** GET /api/runs/ID/userevents?from&to */
export interface UserEventStats { event: string; doc: string; count: number; per_node: { node: number;
  count: number }[]; fields: { name: string; type: string; count: number; min?: number; max?: number;
  mean?: number; sum?: number; p50?: number; p90?: number; p99?: number; bins?: { from: number; to: number;
  count: number }[]; top?: { value: string; count: number }[] }[] }
/** GET /api/runs/ID/userevents/curves?names&from&to&points: user events over time, "ns.event", and the
 * numbers
 * in them, "ns.event.field". */
export interface UserCurves { from: number; to: number; window_ns: number; curves: { name: string;
  node: number; count: number[] /* by window */; mean: (number | null)[] /* of a field, else empty */ }[] }

/** GET /api/runs/ID/graph/nodes?from&to */
export interface NodeGraph { nodes: { node: number; host: string;
  useful: number /* share of its workers' time */; running: number; bytes: number }[]; links: { from: number;
  to: number; messages: number; bytes: number; wait_ns: number }[] }
/** GET /api/runs/ID/graph/codes?from&to: DF/CF graph collapsed by code fragment and DF name. */
export interface CodeGraph { nodes: GraphNode[]; edges: GraphEdge[]; more: number }
/** GET /api/runs/ID/graph/around?cf|df&depth&t&limit: single fragments around one, placed on nodes at time
 * t. */
export interface GraphNode { id: string; kind: "cf" | "df" | "code" | "dfs"; title: string; key: string;
  count: number; ns: number; bytes: number; node: number /* at t; -1 nowhere or many */; state: string;
  code: number }
export interface GraphEdge { from: string; to: string; count: number; bytes: number; kind: "in" | "out"
  | "child" | "data" /* of TaskGraph: from those that made DFs to those that took them */
  | "wait" /* of Moment */ }
/** GET /api/runs/ID/graph/tasks?from&to&open&limit: all CFs in groups, by code fragment, name, one index
 * after another, number. open: ids of groups, with commas between them; limit: boxes at most (400). */
export interface TaskGraph { groups: TaskGroup[] /* each before those in it */;
  edges: GraphEdge[] /* between and within groups that are not open */; more_edges: number /* left out */;
  more: number /* code fragments left out */; full: boolean /* no room to open some group */ }
export interface TaskGroup { id: string; parent: string /* the open group it is in, "" none */; title: string;
  cf: string /* of a single one, "" of a group */; code: number; open: boolean; cfs: number /* of the run */;
  count: number /* executions that started in the interval */; ns: number /* their time */ }

/** GET /api/runs/ID/graph/moment?t&open&limit&window: the whole program over the nodes at t. open: as of
 * TaskGraph; limit: boxes at most (60); window: links count what was sent so many ns before t, flights are
 * those of so long before and after. */
export interface Moment { t: number; groups: MomentGroup[] /* the same at each moment, each before those in
  it */; more: number /* code fragments and names left out */; full: boolean; cfs: CFPlace[]; dfs: DFPlace[];
  flights: Flight[]; links: LinkMoment[]; edges: MomentEdge[]; more_edges: number /* left out */;
  order: GraphEdge[] /* from CFs to those they created or that wait for them */;
  of: "alive" | "running" /* the CFs that edges and order are of */ }
export interface MomentGroup { id: string; kind: "cf" | "df"; parent: string /* the open group it is in */;
  title: string; key: string /* of a single one, "" of a group */; code: number; open: boolean;
  count: number }
export interface CFPlace { group: string; node: number /* -1: on none */; waiting: number; ready: number;
  running: number; moving: number; finished: number; absent: number }
export interface DFPlace { group: string; node: number; copies: number; bytes: number }
export interface Flight { kind: "cf" | "df" | "put" | "get" | "atomic" | "message"; group: string /* its box,
  "" none */; title: string; from: number; to: number; sent: number; received: number; bytes: number }
export interface LinkMoment { from: number; to: number; in_flight: number; bytes_in_flight: number;
  messages: number /* sent within the window */; bytes: number }
export interface MomentEdge { from: string; from_node: number; to: string; to_node: number;
  kind: "in" /* a DF that a CF takes */ | "out" /* one that it made */; count: number; bytes: number }

/** GET /api/runs/ID/memory?from&to&t&points: bytes held per node over time, and who holds them at t (default:
 * the peak within the interval). */
export interface Memory { from: number; to: number; window_ns: number; nodes: { node: number; mean: number[];
  max: number[] }[]; total: { mean: number[]; max: number[] }; t: number; bytes: number;
  holders: { name: string; node: number; copies: number; bytes: number; code: string; oldest_ns: number;
  example: string; df: string }[]; holders_more: number }

/** GET /api/compare?a=ID&b=ID: like `whyslow diff --json`. */
export interface Comparison { a: CompareSide; b: CompareSide; whole: CompareRow[]; factors: CompareRow[];
  parts: CompareRow[]; fragments: { code: string; count_a: number; count_b: number; time: CompareRow;
  useful: CompareRow; mean: CompareRow }[]; path: CompareRow[] | null }
export interface CompareSide { name: string; program: string; ended: string; nodes: number; workers: number }
export interface CompareRow { name: string; unit: "ns" | "bytes" | "count"; a: number | null; b: number
  | null; share: number }

/** GET /api/runs/ID/whatif?lang: what can be asked about the run on other machines. */
export interface WhatIf {
  why: string; // why nothing can be predicted, in one sentence; "": it can, and the rest is there
  nodes: number; workers: number /* of each node */; latency_ns: number;
  bandwidth: number /* bytes per second, 0: no limit */; codes: string[] /* whose speed can be changed */;
  strategies: string[] /* of the balancer, what locators say first */;
  cfs: number; sampled: boolean /* there are estimates */; wall_ns: number; useful_ns: number;
  warning: string /* about all predictions, "": none */; picture: Picture | null /* as recorded */ }
/** What the first lanes, and nodes, do from the start of a run to its end, or in an interval. */
export interface Picture {
  lanes: number[][]; // by column: the code fragment that ran longest in it, 0: none ran
  shares: number[][]; // share of the column's time in which any ran, 0 to 1000
  load: number[][]; // share of workers' time in user code, 0 to 1000: by row of so many nodes, then by window
  nodes: number }
/** GET /api/runs/ID/whatif/predict?nodes&workers&latency&bandwidth&speed&lang: the run on another machine.
 * latency in ns, speed as "step=2,larger=0.5": that many times as fast; what is left out is as recorded.
 * GET /api/runs/ID/whatif/estimate: Prediction | null, from a sample; null where there is none. */
export interface Prediction { sampled: boolean; nodes: number; workers: number; wall_ns: number;
  useful_ns: number /* of all workers */; least_ns: number /* nothing beats it on so many workers */;
  chain_ns: number /* the longest chain of CFs */;
  messages: number; doubts: string[]; picture: Picture | null /* null for an estimate */ }
/** GET /api/runs/ID/whatif/zoom?from&to, with a machine: an interval of both runs. */
export interface Zoomed { measured: Picture; predicted: Picture }
/** GET /api/runs/ID/whatif/factors: the same run, divided as in a report. */
export interface Division { total_ns: number; factors: Factors }
/** GET /api/runs/ID/whatif/scaling: the same machine with 1, 2, 4 and more nodes, without pictures.
 * GET /api/runs/ID/whatif/scaling/estimate: Scaling | null, from a sample; null where there is none. */
export interface Scaling { sampled: boolean; machines: Prediction[];
  pays: number /* more nodes gain less than 5 %, 0: they gain more */ }
/** GET /api/runs/ID/whatif/profile: what the recorded run's CFs cost, by code fragment and by label (the 1000
 * that take most time). GET /api/runs/ID/whatif/balance?strategy, with a machine as for predict: the same,
 * and where a strategy of the balancer would put them there. */
export interface Profile { codes: ProfileRow[]; labels: ProfileRow[]; more: number;
  strategy: string /* "": the balancer was not asked */; wall_ns: number;
  picture: Picture | null /* so distributed, null: not asked */ }
/** GET /api/runs/ID/whatif/try?strategy, with a machine: what that strategy gains. */
export interface Trial { strategy: string; wall_ns: number; moved: number /* CFs */;
  memory_bytes: number /* the most that a node holds */; left: number /* CFs that never can run */ }
export interface ProfileRow { code: number; title: string; count: number; ns: number;
  bytes: number /* of the DFs that it makes */; traffic: number /* bytes of inputs from other nodes */;
  ran: { node: number; ns: number }[] /* most time first */; put: { node: number; ns: number }[] }

/** GET /api/sql: the tables that queries may use, and the queries that come with whyslow. */
export interface SQLTables { tables: { name: string; doc: string; columns: { name: string;
  type: "INTEGER" | "REAL" | "TEXT"; unit?: "ns" | "bytes"; key?: boolean; refers?: string /* "cfs.cf" */;
  doc: string }[] }[]; queries: { name: string;
  doc: string; ru: string /* the same in Russian */; sql: string }[] }
/** GET /api/runs/ID/sql?q&limit (of rows): what the statements of a text found, up to the first mistake.
 * Integers that a number does not hold are strings. */
export interface SQLAnswer { results: SQLResult[]; mistake: { line: number /* from 1; 0: nowhere */;
  column: number; text: string } | null; ms: number }
export interface SQLResult { columns: string[]; rows: unknown[][];
  left: boolean /* there were more rows */ }

/** GET /api/runs/ID/export?from&to: the interval as a trace, a .tar.gz with its folder. GET
 * /api/runs/ID/events.csv: the whole list, as in /events. */

/** SSE /api/debug/updates: how a debugged program stands, whenever that changes. PUT /api/debug/ACTION with
 * DebugArgs changes it: pause, continue, step (cf, or the next at node and worker), until (text), break
 * (text), clear (id, 0: all), hold (text), release (text), first (text: these CFs end before others begin),
 * let (cf: it goes on alone), move (cf, node: it runs there), set (df, value), input (cf, df, value), quit.
 * What is wrong is answered with status 400, in one line. */
export interface DebugState {
  version: number;
  phase: "starting" | "running" | "stopped" | "over";
  reason: "" | "entry" | "pause" | "until" | "breakpoint" | "step" | "held" | "stuck" | "end"; // of the stop
  text: string; // of the stop
  cf: string; // where it stopped; "": at none
  node: number; // of that CF, and its worker; -1: none
  worker: number;
  break: number; // the breakpoint that was reached; 0: none
  points: { id: number; text: string; hits: number }[];
  holds: string[];
  firsts: string[]; // CFs that are to end before others begin
  changes: string[]; // values changed by hand
  log: string[]; // the newest lines of logpoints
  logged: number; // how many there were
}
export interface DebugArgs { cf?: string; node?: number; worker?: number; text?: string; id?: number;
  df?: string; value?: string }
/** GET /api/debug/cfs?state: those that exist. null, here and below: it has not begun, is over, or what was
 * asked for does not exist now. */
export interface DebugCFs { cfs: DebugCF[]; counts: Record<string, number> /* by state */;
  more: boolean /* queues have more */ }
export interface DebugCF { cf: string; name: string; code: string /* its statement */; file: string;
  line: number; node: number; worker: number /* where it runs, or was about to go on; -1: nowhere */;
  state: string /* waiting, queued, running, requests, ready, held */; awaits: string[] /* DFs */ }
/** GET /api/debug/cf?cf */
export interface DebugStory extends DebugCF {
  above: { name: string; file: string; line: number }[]; // those that created it, the nearest first
  inputs: DebugValue[] | null; // null: it is not kept
  sees: DebugValue[] | null; // counters and parameters
  gdb: string; // to be typed to have gdb stop in its C++ function; "": it is not about to execute one
}
export interface DebugValue { name: string; type: string; size: number; text: string }
/** GET /api/debug/dfs?name: those that nodes store or that are awaited. */
export interface DebugDFs { dfs: DebugDF[]; more: boolean }
export interface DebugDF { id: string; name: string; type: string /* "": not made yet */; size: number;
  text: string; nodes: number[] /* where copies are */; made_by: string;
  maker: string /* CF; "": not known */; left: number /* requests still to be served; -1: any number */;
  users: string[] /* CFs that wait for it */;
  next: string[] /* CFs about to go on that have it, or are about to request it */ }
/** GET /api/debug/diff?a&b&type: how two DFs differ, raw data as arrays of a type; status 400: not to be
 * compared so, in one line. */
export interface DebugDifference { text: string }
/** GET /api/debug/df?df&type&from&column: its content from a byte, or from a row and a column of an array. */
export interface DebugContent extends DebugDF {
  hex: string[] | null; // of raw data without a type: rows of 16 bytes
  from: number; // the first byte or row
  array: { dims: number[]; column: number; rows: string[][]; least: string; most: string; mean: string;
    nans: number; picture: { width: number; height: number;
    shades: string /* base64: 0 the least to 254 the greatest, 255 no number */ } | null } | null;
}
