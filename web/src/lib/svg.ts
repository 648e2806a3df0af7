// An SVG made by the calls of a 2D canvas, so that one drawing function serves the screen and the file.

const escape = (s: string) => s.replace(/[&<>"]/g,
  (c) => `&#${c.charCodeAt(0)};`).replace(/[^\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu,
  "\ufffd");
const n = (v: number) => String(Math.round(v * 100) / 100);

/** The part of CanvasRenderingContext2D that drawing functions use. */
export type Draw = Pick<
  CanvasRenderingContext2D,
  | "fillStyle" | "strokeStyle" | "lineWidth" | "globalAlpha" | "font" | "textAlign" | "textBaseline"
  | "fillRect" | "strokeRect" | "fillText" | "measureText" | "beginPath" | "moveTo" | "lineTo"
    | "bezierCurveTo" | "rect" | "arc" | "closePath" | "stroke" | "fill" | "clip" | "save" | "restore"
    | "setLineDash" | "translate"
>;

type State = { fillStyle: string; strokeStyle: string; lineWidth: number; globalAlpha: number; font: string;
  textAlign: CanvasTextAlign; textBaseline: CanvasTextBaseline; dash: number[]; groups: number; x: number;
  y: number };

/** An SVG of a size in pixels, drawn like a canvas. */
export class Svg {
  fillStyle: string | CanvasGradient | CanvasPattern = "#000";
  strokeStyle: string | CanvasGradient | CanvasPattern = "#000";
  lineWidth = 1;
  globalAlpha = 1;
  font = "12px sans-serif";
  textAlign: CanvasTextAlign = "start";
  textBaseline: CanvasTextBaseline = "alphabetic";
  private out: string[] = [];
  private path = "";
  private dash: number[] = [];
  private stack: State[] = [];
  private groups = 0;
  private clips = 0;
  private x = 0;
  private y = 0;
  private measure: CanvasRenderingContext2D | null = null;

  constructor(
    readonly width: number,
    readonly height: number,
    private readonly title = "",
  ) {}

  private alpha(): string {
    return this.globalAlpha < 1 ? ` opacity="${n(this.globalAlpha)}"` : "";
  }
  private lines(): string {
    const dash = this.dash.length ? ` stroke-dasharray="${this.dash.map(n).join(" ")}"` : "";
    const width = n(this.lineWidth);
    return `fill="none" stroke="${this.strokeStyle}" stroke-width="${width}"${dash}${this.alpha()}`;
  }
  private p(x: number, y: number): string {
    return `${n(x + this.x)} ${n(y + this.y)}`;
  }
  private box(x: number, y: number, w: number, h: number): string {
    const [width, height] = [n(Math.max(w, 0)), n(Math.max(h, 0))];
    return `x="${n(x + this.x)}" y="${n(y + this.y)}" width="${width}" height="${height}"`;
  }

  translate(x: number, y: number): void {
    this.x += x;
    this.y += y;
  }
  fillRect(x: number, y: number, w: number, h: number): void {
    if (w <= 0 || h <= 0) return;
    this.out.push(`<rect ${this.box(x, y, w, h)} fill="${this.fillStyle}"${this.alpha()}/>`);
  }
  strokeRect(x: number, y: number, w: number, h: number): void {
    this.out.push(`<rect ${this.box(x, y, w, h)} ${this.lines()}/>`);
  }
  fillText(text: string, x: number, y: number): void {
    const anchor = { start: "start", left: "start", center: "middle", right: "end",
      end: "end" }[this.textAlign];
    const size = parseFloat(/([\d.]+)px/.exec(this.font)?.[1] ?? "12");
    const down = this.textBaseline === "middle" ? size * 0.35 : this.textBaseline === "top" ||
      this.textBaseline === "hanging" ? size * 0.8 : 0;
    const bold = /bold|[67]00/.test(this.font) ? ' font-weight="600"' : "";
    const place = `x="${n(x + this.x)}" y="${n(y + this.y + down)}" text-anchor="${anchor}"`;
    const font = `font-family="system-ui, sans-serif" font-size="${n(size)}"${bold}`;
    this.out.push(`<text ${place} ${font} fill="${this.fillStyle}"${this.alpha()}>${escape(text)}</text>`);
  }
  measureText(text: string): TextMetrics {
    // there are no fonts to measure with
    if (typeof document === "undefined") return { width: text.length * 6.6 } as TextMetrics;
    this.measure ??= document.createElement("canvas").getContext("2d")!;
    this.measure.font = this.font;
    return this.measure.measureText(text);
  }
  beginPath(): void {
    this.path = "";
  }
  moveTo(x: number, y: number): void {
    this.path += `M${this.p(x, y)}`;
  }
  lineTo(x: number, y: number): void {
    this.path += `${this.path ? "L" : "M"}${this.p(x, y)}`;
  }
  bezierCurveTo(a: number, b: number, c: number, d: number, x: number, y: number): void {
    this.path += `C${this.p(a, b)} ${this.p(c, d)} ${this.p(x, y)}`;
  }
  rect(x: number, y: number, w: number, h: number): void {
    this.path += `M${this.p(x, y)}h${n(w)}v${n(h)}h${n(-w)}z`;
  }
  /** Whole circles only. */
  arc(x: number, y: number, r: number): void {
    const half = `a${n(r)} ${n(r)} 0 1 0`;
    this.path += `M${this.p(x - r, y)}${half} ${n(2 * r)} 0${half} ${n(-2 * r)} 0`;
  }
  closePath(): void {
    this.path += "z";
  }
  stroke(): void {
    if (this.path) this.out.push(`<path d="${this.path}" ${this.lines()}/>`);
  }
  fill(): void {
    if (this.path) this.out.push(`<path d="${this.path}" fill="${this.fillStyle}"${this.alpha()}/>`);
  }
  clip(): void {
    const id = `c${this.clips++}`;
    this.out.push(`<clipPath id="${id}"><path d="${this.path}"/></clipPath><g clip-path="url(#${id})">`);
    this.groups++;
  }
  setLineDash(dash: number[]): void {
    this.dash = dash;
  }
  save(): void {
    this.stack.push({ fillStyle: String(this.fillStyle), strokeStyle: String(this.strokeStyle),
      lineWidth: this.lineWidth, globalAlpha: this.globalAlpha, font: this.font, textAlign: this.textAlign,
      textBaseline: this.textBaseline, dash: this.dash, groups: this.groups, x: this.x, y: this.y });
  }
  restore(): void {
    const s = this.stack.pop();
    if (!s) return;
    for (; this.groups > s.groups; this.groups--) this.out.push("</g>");
    Object.assign(this, s);
  }
  /** The text of the file. */
  toString(): string {
    const end = "</g>".repeat(this.groups);
    const [w, h] = [n(this.width), n(this.height)];
    const size = `width="${w}" height="${h}" viewBox="0 0 ${w} ${h}"`;
    const title = this.title ? `<title>${escape(this.title)}</title>` : "";
    return `<svg xmlns="http://www.w3.org/2000/svg" ${size}>${title}${this.out.join("")}${end}</svg>\n`;
  }
}
