// What a table, plot or picture is about: which time, and which of the filters of the whole page it obeys.

import type { ViewName } from "./url";

export const filterNames = ["node", "link", "code"] as const;
export type FilterName = (typeof filterNames)[number];

export interface Scope {
  // The selected or the visible interval, or of sums that follow the cursor; undefined: none changes what is
  // shown.
  time?: "sel" | "vis" | "sums";
  by?: readonly FilterName[]; // filters that apply
}

/** The filters that something in a view obeys. In all other views their chips are shown disabled. */
export const obeyed: Record<ViewName, readonly FilterName[]> = {
  overview: filterNames, timeline: filterNames, nodes: ["node"], links: ["node", "link"], graphs: ["node",
    "link"],
  events: filterNames, fragments: ["code"], memory: ["node"], compare: [], patterns: [], whatif: [], sql: [],
  runs: [], debug: [],
};
