// The state of the page as an address, and back. Everything that the user can set has a place in the query,
// so a link shows the same. Defaults are left out, so addresses stay short.

export const viewNames = ["overview", "timeline", "nodes", "links", "graphs", "events", "fragments", "memory",
  "compare", "patterns", "whatif", "sql", "runs", "debug"] as const;
export type ViewName = (typeof viewNames)[number];
export type Interval = [from: number, to: number];
export const pickKinds = ["cf", "df", "link", "code", "node", "line"] as const;
export interface Pick {
  kind: (typeof pickKinds)[number];
  key: string;
}

/** The content of an address. */
export interface Place {
  run: string;
  view: ViewName;
  t: number | null;
  sel: Interval | null;
  vis: Interval | null;
  pick: Pick | null;
  filters: Record<string, string>;
  follow: boolean;
  speed: number; // 0: depends on the length of the run
  lang: "" | "en" | "ru"; // "": as remembered
  theme: "" | "light" | "dark" | "auto";
}

export function start(): Place {
  return { run: "", view: "overview", t: null, sel: null, vis: null, pick: null, filters: {}, follow: false,
    speed: 0, lang: "", theme: "" };
}

function whole(s: string | null): number | null {
  if (s === null || !/^\d{1,16}$/.test(s)) return null;
  const n = Number(s);
  return Number.isSafeInteger(n) ? n : null;
}

function interval(s: string | null): Interval | null {
  const [a, b, more] = (s ?? "").split("-");
  const from = whole(a ?? null);
  const to = whole(b ?? null);
  return from !== null && to !== null && from < to && more === undefined ? [from, to] : null;
}

/** Parses an address. Wrong parts count as missing. */
export function parse(search: string): Place {
  const q = new URLSearchParams(search);
  const p = start();
  p.run = q.get("run") ?? "";
  const view = q.get("view") as ViewName;
  if (viewNames.includes(view)) p.view = view;
  p.t = whole(q.get("t"));
  p.sel = interval(q.get("sel"));
  p.vis = interval(q.get("vis"));
  const pick = /^([a-z]+):([^]+)$/.exec(q.get("pick") ?? "");
  if (pick && (pickKinds as readonly string[]).includes(pick[1])) p.pick = { kind: pick[1] as Pick["kind"],
    key: pick[2] };
  p.follow = q.get("follow") === "1";
  const speed = Number(q.get("speed"));
  if (speed > 0 && speed <= 1e6) p.speed = speed;
  const lang = q.get("lang");
  if (lang === "en" || lang === "ru") p.lang = lang;
  const theme = q.get("theme");
  if (theme === "light" || theme === "dark" || theme === "auto") p.theme = theme;
  for (const [name, value] of q) if (name.startsWith("f.") && name.length > 2 &&
    value !== "") p.filters[name.slice(2)] = value;
  return p;
}

/** Returns the query of an address, with its "?". */
export function format(p: Place): string {
  const q: [string, string][] = [];
  if (p.run) q.push(["run", p.run]);
  if (p.view !== "overview") q.push(["view", p.view]);
  if (p.t !== null) q.push(["t", String(Math.round(p.t))]);
  for (const [name, v] of [["sel", p.sel], ["vis", p.vis]] as const) {
    if (v) q.push([name, `${Math.round(v[0])}-${Math.round(v[1])}`]);
  }
  if (p.pick) q.push(["pick", `${p.pick.kind}:${p.pick.key}`]);
  if (p.follow) q.push(["follow", "1"]);
  if (p.speed > 0) q.push(["speed", String(p.speed)]);
  if (p.lang) q.push(["lang", p.lang]);
  if (p.theme) q.push(["theme", p.theme]);
  for (const name of Object.keys(p.filters).sort()) if (p.filters[name] !== "") q.push([`f.${name}`,
    p.filters[name]]);
  // Characters that need no escape in a query and that people read are restored.
  const word = (s: string) => encodeURIComponent(s).replace(/%(3A|2F|2C|5B|5D|3E|40)/gi,
    (c) => (c.toUpperCase() === "%3E" ? c : decodeURIComponent(c)));
  return q.length ? "?" + q.map(([k, v]) => `${word(k)}=${word(v)}`).join("&") : "";
}
