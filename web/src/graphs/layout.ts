// Layered layout of a graph by dagre. It runs in a worker (layout.worker.ts), because it takes seconds for a
// graph of a thousand nodes.

import dagre from "@dagrejs/dagre";

export interface LayoutInput {
  nodes: { id: string; width: number; height: number }[];
  edges: { from: string; to: string; weight?: number }[];
  direction: "TB" | "LR";
}
export interface Layout {
  width: number;
  height: number;
  nodes: Record<string, { x: number; y: number; rank: number }>; // middle; rank: number of the layer
  edges: { x: number; y: number }[][]; // in the order of the request; empty if an end is not among the nodes
}

/** Places the nodes of a graph in layers. */
export function layered(input: LayoutInput): Layout {
  const g = new dagre.graphlib.Graph({ multigraph: true });
  g.setGraph({ rankdir: input.direction, nodesep: 16, ranksep: 28, edgesep: 8, marginx: 12, marginy: 12 });
  g.setDefaultEdgeLabel(() => ({}));
  for (const n of input.nodes) g.setNode(n.id, { width: n.width, height: n.height });
  input.edges.forEach((e, i) => {
    if (g.hasNode(e.from) && g.hasNode(e.to)) g.setEdge(e.from, e.to, { weight: e.weight ?? 1 }, String(i));
  });
  dagre.layout(g);
  const along = input.direction === "LR" ? "x" : "y";
  const levels = [...new Set(input.nodes.map((n) => Math.round((g.node(n.id) as { x: number;
    y: number })[along])))].sort((a, b) => a - b);
  const rank = new Map(levels.map((at, i) => [at, i]));
  const nodes: Layout["nodes"] = {};
  for (const n of input.nodes) {
    const at = g.node(n.id) as { x: number; y: number };
    nodes[n.id] = { x: at.x, y: at.y, rank: rank.get(Math.round(at[along])) ?? 0 };
  }
  const edges = input.edges.map((e, i) => (g.hasEdge(e.from, e.to, String(i))
    ? ((g.edge(e.from, e.to, String(i)) as { points?: { x: number; y: number }[] }).points ?? []) : []));
  const size = g.graph() as { width?: number; height?: number };
  return { width: Math.max(size.width ?? 0, 40), height: Math.max(size.height ?? 0, 40), nodes, edges };
}

/** A smooth path through the points of an edge, as the attribute d. */
export function smooth(points: { x: number; y: number }[]): string {
  if (points.length < 2) return "";
  const p = (q: { x: number; y: number }) => `${q.x.toFixed(1)} ${q.y.toFixed(1)}`;
  let d = `M${p(points[0])}`;
  if (points.length === 2) return `${d}L${p(points[1])}`;
  for (let i = 1; i < points.length - 1; i++) {
    const next = i === points.length - 2 ? points[i + 1] : { x: (points[i].x + points[i + 1].x) / 2,
      y: (points[i].y + points[i + 1].y) / 2 };
    d += `Q${p(points[i])} ${p(next)}`;
  }
  return d;
}
