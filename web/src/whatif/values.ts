// The values that sliders go through, and the machine in the address.

/** 1, 2, 3, 4, 6, 8, 12, 16 and so on, up to a number. */
export function counts(most: number): number[] {
  const out = [1];
  for (let n = 2; n <= most; n *= 2) {
    out.push(n);
    if (n + n / 2 <= most && n > 1) out.push(n + n / 2);
  }
  return out;
}

/** 1, 2, 5, 10, 20, 50 and so on, from one number to another. */
export function decades(from: number, to: number): number[] {
  const out: number[] = [];
  for (let power = from; power <= to; power *= 10) for (const m of [1, 2, 5]) {
    const v = Number((m * power).toPrecision(3));
    if (v <= to) out.push(v);
  }
  return out;
}

/** The place in a list of the value that is nearest. */
export function nearest(list: readonly number[], value: number): number {
  let best = 0;
  list.forEach((v, i) => {
    if (Math.abs(v - value) < Math.abs(list[best] - value)) best = i;
  });
  return best;
}

/** Speeds by code fragment, from "step=2,larger=0.5". */
export function readSpeeds(s: string | undefined): Record<string, number> {
  const out: Record<string, number> = {};
  for (const part of (s ?? "").split(",")) {
    const [code, factor] = part.split("=");
    const v = Number(factor);
    if (code && v > 0) out[code] = v;
  }
  return out;
}

/** The same, written; null for none. */
export function writeSpeeds(speeds: Record<string, number>): string | null {
  return Object.keys(speeds).sort().map((code) => `${code}=${speeds[code]}`).join(",") || null;
}
