// Times, sizes and numbers for people: the same look as the reports of the command line have.

export type Lang = "en" | "ru";
export type Unit = "count" | "bytes" | "ns" | "bytes/s" | "count/s" | "share";

const names = {
  en: { s: "s", ms: "ms", us: "µs", ns: "ns", bytes: "bytes", byte: "byte", KB: "KB", MB: "MB", GB: "GB", TB: "TB", perSecond: "/s" },
  ru: { s: "с", ms: "мс", us: "мкс", ns: "нс", bytes: "байт", byte: "байт", KB: "КБ", MB: "МБ", GB: "ГБ", TB: "ТБ", perSecond: "/с" },
};

/** A number with so many digits after the point (in Russian a comma). */
export function fixed(v: number, digits: number, lang: Lang): string {
  const s = v.toFixed(digits);
  return lang === "ru" ? s.replace(".", ",") : s;
}

/** A time with three or four digits and a unit that fits: "1.50 ms". */
export function formatDuration(ns: number, lang: Lang): string {
  if (ns < 0) return "-" + formatDuration(-ns, lang);
  for (const [size, unit] of [[1e9, "s"], [1e6, "ms"], [1e3, "us"]] as const) {
    const v = ns / size;
    if (v >= 0.9995) return `${fixed(v, v >= 100 ? 0 : v >= 10 ? 1 : 2, lang)} ${names[lang][unit]}`;
  }
  return `${Math.round(ns)} ${names[lang].ns}`;
}

/** A size with a unit of powers of 1000: "1.5 KB". */
export function formatBytes(n: number, lang: Lang): string {
  if (n < 0) return "-" + formatBytes(-n, lang);
  const word = names[lang];
  let v = n;
  for (const unit of ["bytes", "KB", "MB", "GB"] as const) {
    if (v < 1000) {
      if (unit !== "bytes") return `${fixed(v, 1, lang)} ${word[unit]}`;
      return Number.isInteger(v) ? `${v} ${v === 1 ? word.byte : plural(v, lang, word.byte, lang === "ru" ? "байта" : word.bytes, word.bytes)}` : `${fixed(v, 1, lang)} ${word.bytes}`;
    }
    v /= 1000;
  }
  return `${fixed(v, 1, lang)} ${word.TB}`;
}

/** A count with thin spaces between thousands: "1 234 567". */
export function formatCount(n: number, lang: Lang): string {
  if (!Number.isInteger(n)) return formatDecimal(n, lang);
  return String(n).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** A number with three digits or all before the point. */
export function formatDecimal(v: number, lang: Lang): string {
  const a = Math.abs(v);
  if (a >= 1000) return formatCount(Math.round(v), lang);
  return fixed(v, a >= 100 || v === 0 ? 0 : a >= 10 ? 1 : a >= 0.01 ? 2 : 4, lang);
}

/** A share of 0 to 1 as "12.3 %". */
export function formatShare(v: number, lang: Lang): string {
  return `${fixed(100 * (Number.isFinite(v) ? v : 0), 1, lang)} %`;
}

export function formatValue(v: number, unit: Unit, lang: Lang): string {
  switch (unit) {
    case "bytes":
      return formatBytes(Number.isInteger(v) ? v : v < 1000 ? Math.round(v * 10) / 10 : v, lang);
    case "bytes/s":
      return formatBytes(v < 1000 ? Math.round(v) : v, lang) + names[lang].perSecond;
    case "count/s":
      return formatDecimal(v, lang) + names[lang].perSecond;
    case "ns":
      return formatDuration(v, lang);
    case "share":
      return formatShare(v, lang);
  }
  return formatCount(v, lang);
}

/** A moment, with as many digits as its axis needs: unit by the axis' greatest time, digits by its step. */
export function formatMoment(t: number, scale: { ns: number; unit: "ns" | "us" | "ms" | "s"; digits: number }, lang: Lang): string {
  return `${fixed(t / scale.ns, scale.digits, lang)} ${names[lang][scale.unit]}`;
}

/** The form of a word that fits a number: Russian has three, English the first and the last. */
export function plural(n: number, lang: Lang, one: string, few: string, many: string): string {
  if (lang === "en") return Math.abs(n) === 1 ? one : many;
  const d = Math.abs(n) % 100;
  if (!Number.isInteger(n)) return few;
  if (d >= 11 && d <= 14) return many;
  return d % 10 === 1 ? one : d % 10 >= 2 && d % 10 <= 4 ? few : many;
}
