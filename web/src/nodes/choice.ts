// A choice of several names as one value of a filter in the address: names separated by commas. A missing
// value means the usual choice, "-" none at all.

/** The chosen names, in the order of `all`. Names that are not in `all` are left out. */
export function chosen(value: string | undefined, usual: readonly string[],
  all: readonly string[]): string[] {
  const names = value ? new Set(value === "-" ? [] : value.split(",")) : new Set(usual);
  return all.filter((name) => names.has(name));
}

/** The value for these names, or null for the usual ones. */
export function choice(names: readonly string[], usual: readonly string[], all: readonly string[]): string
  | null {
  const wanted = new Set(names);
  const same = wanted.size === all.filter((n) => usual.includes(n)).length &&
    usual.every((n) => wanted.has(n) || !all.includes(n));
  if (same) return null;
  return all.filter((n) => wanted.has(n)).join(",") || "-";
}

/** The value after one name was toggled. */
export function toggled(value: string | undefined, name: string, usual: readonly string[],
  all: readonly string[]): string | null {
  const names = chosen(value, usual, all);
  return choice(names.includes(name) ? names.filter((n) => n !== name) : [...names, name], usual, all);
}

/** The numbers in a list like "0-3,7", in order, each once. Wrong ones and those not below `limit` are left
 * out. */
export function numbers(list: string, limit: number): number[] {
  const out = new Set<number>();
  for (const part of list.split(",")) {
    const m = /^\s*(\d{1,6})\s*(?:-\s*(\d{1,6})\s*)?$/.exec(part);
    if (!m) continue;
    const last = Math.min(Number(m[2] ?? m[1]), limit - 1);
    for (let n = Number(m[1]); n <= last; n++) out.add(n);
  }
  return [...out].sort((a, b) => a - b);
}

/** The shortest list that `numbers` parses as these. */
export function ranges(list: readonly number[]): string {
  const sorted = [...new Set(list)].sort((a, b) => a - b);
  const out: string[] = [];
  for (let i = 0; i < sorted.length; ) {
    let j = i;
    while (j + 1 < sorted.length && sorted[j + 1] === sorted[j] + 1) j++;
    out.push(j === i ? `${sorted[i]}` : `${sorted[i]}-${sorted[j]}`);
    i = j + 1;
  }
  return out.join(",");
}
