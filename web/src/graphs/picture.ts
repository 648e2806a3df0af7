// Saves an <svg> of the page: as a file of its own (colours from style sheets are written into it), or
// painted on a canvas. A browser would paint an SVG through a data: image, which the page's policy forbids,
// so its few shapes are painted here.

const kept = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "fill-opacity",
  "stroke-opacity", "font-size", "font-weight", "text-anchor", "dominant-baseline"] as const;

/** The text of the SVG with everything it needs: `width` x `height` of its own coordinates, on a
 * background. */
export function standalone(svg: SVGSVGElement, content: SVGGElement, width: number, height: number,
  back: string): string {
  const out = svg.cloneNode(false) as SVGSVGElement;
  for (const a of [...out.attributes]) out.removeAttribute(a.name);
  out.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  out.setAttribute("viewBox", `0 0 ${width} ${height}`);
  out.setAttribute("width", String(Math.ceil(width)));
  out.setAttribute("height", String(Math.ceil(height)));
  out.setAttribute("font-family", "system-ui, sans-serif");
  const rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  rect.setAttribute("width", "100%");
  rect.setAttribute("height", "100%");
  rect.setAttribute("fill", back);
  const copy = content.cloneNode(true) as SVGGElement;
  copy.removeAttribute("transform");
  inline(content, copy);
  out.append(rect, copy);
  return new XMLSerializer().serializeToString(out);
}

function inline(from: Element, to: Element): void {
  const style = getComputedStyle(from);
  for (const name of kept) {
    const value = style.getPropertyValue(name);
    if (value) to.setAttribute(name, value);
  }
  const move = style.getPropertyValue("transform");
  if (move && move !== "none") to.setAttribute("transform", move);
  for (const name of ["class", "style", "tabindex", "role", "aria-label"]) to.removeAttribute(name);
  for (let i = 0; i < from.children.length; i++) inline(from.children[i], to.children[i]);
}

/** The same, painted on a canvas at twice the resolution. */
export function painted(content: SVGGElement, width: number, height: number,
  back: string): HTMLCanvasElement {
  const scale = Math.min(2, 8000 / Math.max(width, height, 1));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.ceil(width * scale));
  canvas.height = Math.max(1, Math.ceil(height * scale));
  const pen = canvas.getContext("2d")!;
  pen.fillStyle = back;
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.scale(scale, scale);
  for (const child of content.children) paint(pen, child);
  return canvas;
}

function paint(pen: CanvasRenderingContext2D, el: Element): void {
  if (!(el instanceof SVGGraphicsElement)) return;
  const style = getComputedStyle(el);
  if (style.display === "none") return;
  pen.save();
  const move = style.transform;
  if (move && move !== "none") {
    const m = new DOMMatrix(move);
    pen.transform(m.a, m.b, m.c, m.d, m.e, m.f);
  } else {
    const m = el.transform.baseVal.consolidate()?.matrix;
    if (m) pen.transform(m.a, m.b, m.c, m.d, m.e, m.f);
  }
  pen.globalAlpha *= Number(style.opacity);
  const shape = path(el);
  if (shape) {
    const alpha = pen.globalAlpha;
    if (style.fill !== "none") {
      pen.globalAlpha = alpha * Number(style.fillOpacity);
      pen.fillStyle = style.fill;
      pen.fill(shape);
    }
    if (style.stroke !== "none") {
      pen.globalAlpha = alpha * Number(style.strokeOpacity);
      pen.strokeStyle = style.stroke;
      pen.lineWidth = Number.parseFloat(style.strokeWidth);
      pen.setLineDash(style.strokeDasharray === "none" ? []
        : style.strokeDasharray.split(/[ ,]+/).map(Number.parseFloat));
      pen.stroke(shape);
    }
  } else if (el instanceof SVGTextElement) {
    pen.fillStyle = style.fill;
    pen.font = `${style.fontWeight} ${style.fontSize} system-ui, sans-serif`;
    pen.textAlign = style.textAnchor === "middle" ? "center" : style.textAnchor === "end" ? "right" : "left";
    pen.textBaseline = style.dominantBaseline === "central" || style.dominantBaseline === "middle" ? "middle"
      : "alphabetic";
    const own = [...el.childNodes].filter((n) => n.nodeType === Node.TEXT_NODE); // its <title> is not drawn
    pen.fillText(own.map((n) => n.textContent).join(""), Number(el.getAttribute("x")),
      Number(el.getAttribute("y")));
  }
  for (const child of el.children) paint(pen, child);
  pen.restore();
}

function path(el: SVGGraphicsElement): Path2D | null {
  const n = (name: string) => Number(el.getAttribute(name) ?? 0);
  if (el instanceof SVGPathElement) return new Path2D(el.getAttribute("d") ?? "");
  const p = new Path2D();
  if (el instanceof SVGRectElement) p.roundRect(n("x"), n("y"), n("width"), n("height"), n("rx"));
  else if (el instanceof SVGCircleElement) p.arc(n("cx"), n("cy"), n("r"), 0, 2 * Math.PI);
  else if (el instanceof SVGLineElement) {
    p.moveTo(n("x1"), n("y1"));
    p.lineTo(n("x2"), n("y2"));
  } else return null;
  return p;
}
