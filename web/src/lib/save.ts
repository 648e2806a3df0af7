// Saving what is on the screen.

import { request, type Params } from "./client";

/** Offers the user a file to save. */
export function download(name: string, data: BlobPart, type: string): void {
  const address = URL.createObjectURL(data instanceof Blob ? data : new Blob([data], { type }));
  const a = document.createElement("a");
  a.href = address;
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Rows as CSV (RFC 4180). A text that a spreadsheet would read as a formula gets an apostrophe. */
export function csv(rows: unknown[][]): string {
  const cell = (v: unknown) => {
    if (v === null || v === undefined) return "";
    let s = String(v);
    if (typeof v === "string" && /^[=+\-@\t\r]/.test(s)) s = "'" + s;
    return /[",\r\n]/.test(s) ? `"${s.replaceAll('"', '""')}"` : s;
  };
  return rows.map((r) => r.map(cell).join(",") + "\r\n").join("");
}

export function saveCSV(text: string, name: string): void {
  download(`${name}.csv`, text, "text/csv;charset=utf-8");
}

export function saveSVG(text: string, name: string): void {
  download(`${name}.svg`, text, "image/svg+xml");
}

/** Saves a canvas as it is; transparent parts get the given colour. */
export function savePNG(canvas: HTMLCanvasElement, name: string, back?: string): void {
  let from = canvas;
  if (back) {
    from = document.createElement("canvas");
    from.width = canvas.width;
    from.height = canvas.height;
    const c = from.getContext("2d")!;
    c.fillStyle = back;
    c.fillRect(0, 0, from.width, from.height);
    c.drawImage(canvas, 0, 0);
  }
  from.toBlob((blob) => blob && download(`${name}.png`, blob, "image/png"), "image/png");
}

/** Saves a file that takes the server a while to make. told is called with the bytes received so far. Returns
 * the name that the server gave the file. Throws the server's error, or that it was aborted. */
export async function saveFetched(path: string, params: Params, signal: AbortSignal, told: (bytes: number) =>
  void): Promise<string> {
  const answer = await request(path, params, signal, "*/*");
  const name = /filename="?([^";]+)/.exec(answer.headers.get("Content-Disposition") ?? "")?.[1] ?? "download";
  const parts: Uint8Array<ArrayBuffer>[] = [];
  const reader = answer.body!.getReader();
  for (let n = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    told((n += value.length));
  }
  download(name, new Blob(parts), answer.headers.get("Content-Type") ?? "");
  return name;
}

/** Saves a file that the server makes. */
export function saveFrom(address: string, name: string): void {
  const a = document.createElement("a");
  a.href = address;
  a.download = name;
  a.click();
}
