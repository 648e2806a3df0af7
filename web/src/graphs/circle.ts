// Geometry of the graph of nodes: nodes on a circle, and the links between them as arcs.

export interface Place {
  x: number;
  y: number;
  angle: number;
}
export interface Circle {
  size: number; // of the square that contains everything, with the labels
  radius: number; // of a node
  places: Place[];
}

/** Places n nodes on a circle, the first at the top, clockwise. */
export function circle(n: number): Circle {
  const radius = n <= 8 ? 30 : n <= 24 ? 22 : n <= 64 ? 14 : 8;
  const around = Math.max((n * (radius * 2 + 10)) / (2 * Math.PI), n <= 2 ? 110 : 150);
  const middle = around + radius + 40;
  const places = Array.from({ length: n }, (_, i) => {
    const angle = (i / Math.max(n, 1)) * 2 * Math.PI - Math.PI / 2;
    return { x: middle + around * Math.cos(angle), y: middle + around * Math.sin(angle), angle };
  });
  return { size: middle * 2, radius, places };
}

/** An arc from the edge of one node to the edge of another, bent to the right so that both directions are
 * visible. */
export function arc(a: Place, b: Place, radius: number, bend = 0.16): { d: string;
  tip: { x: number; y: number; angle: number }; middle: { x: number; y: number } } {
  const dx = b.x - a.x;
  const dy = b.y - a.y;
  const length = Math.hypot(dx, dy) || 1;
  const mx = (a.x + b.x) / 2 - (dy / length) * length * bend;
  const my = (a.y + b.y) / 2 + (dx / length) * length * bend;
  const cut = (from: { x: number; y: number }, by: number) => {
    const l = Math.hypot(mx - from.x, my - from.y) || 1;
    return { x: from.x + ((mx - from.x) / l) * by, y: from.y + ((my - from.y) / l) * by };
  };
  const start = cut(a, radius + 1);
  const end = cut(b, radius + 7);
  const f = (v: number) => v.toFixed(1);
  return {
    d: `M${f(start.x)} ${f(start.y)}Q${f(mx)} ${f(my)} ${f(end.x)} ${f(end.y)}`,
    tip: { ...end, angle: Math.atan2(b.y - end.y, b.x - end.x) },
    middle: { x: (start.x + 2 * mx + end.x) / 4, y: (start.y + 2 * my + end.y) / 4 },
  };
}

/** The head of an arrow whose tip lies a little before `tip`, as the attribute d. */
export function head(tip: { x: number; y: number; angle: number }, size: number): string {
  const at = (turn: number, by: number) => {
    const [x, y] = [tip.x + by * Math.cos(tip.angle + turn), tip.y + by * Math.sin(tip.angle + turn)];
    return `${x.toFixed(1)} ${y.toFixed(1)}`;
  };
  return `M${at(0, size)}L${at(Math.PI / 2, size / 2)}L${at(-Math.PI / 2, size / 2)}Z`;
}

/** The width of a line for an amount, 1 to 12 pixels. It grows with the square root, so that small amounts
 * are visible. */
export function width(amount: number, max: number): number {
  return max > 0 && amount > 0 ? 1 + 11 * Math.sqrt(Math.min(amount / max, 1)) : 1;
}

/** The slice of a pie, from the top clockwise, as the attribute d. The share is 0 to 1. */
export function slice(x: number, y: number, r: number, share: number): string {
  if (!(share > 0)) return "";
  if (share >= 0.9999) return `M${x} ${y - r}A${r} ${r} 0 1 1 ${x} ${y + r}A${r} ${r} 0 1 1 ${x} ${y - r}Z`;
  const angle = share * 2 * Math.PI;
  const end = `${(x + r * Math.sin(angle)).toFixed(2)} ${(y - r * Math.cos(angle)).toFixed(2)}`;
  return `M${x} ${y}L${x} ${y - r}A${r} ${r} 0 ${share > 0.5 ? 1 : 0} 1 ${end}Z`;
}
