// Times, sizes and numbers for people, as in internal/words. Its units and nouns are in words.gen.ts, and
// units.test.ts checks that both sides write the same.

import { byteUnits, nouns, perSecond, timeUnits } from "./words.gen";

export type Lang = "en" | "ru";
export type Unit = "count" | "bytes" | "ns" | "bytes/s" | "count/s" | "share";
export type Noun = keyof typeof nouns;

/** A number with so many digits after the point (a comma in Russian). As in Go, a tie goes to the even
 * digit. */
export function fixed(v: number, digits: number, lang: Lang): string {
  // v lies halfway between two results if v * 2^(digits + 1) is odd; toFixed takes the one farther from 0.
  const down = (Math.abs(v) * 2 ** (digits + 1)) % 4 === 1;
  const s = (down ? Math.trunc(v * 10 ** digits) / 10 ** digits : v).toFixed(digits);
  return lang === "ru" ? s.replace(".", ",") : s;
}

/** A time with three or four digits and a unit that fits: "1.50 ms". */
export function formatDuration(ns: number, lang: Lang): string {
  if (ns < 0) return "-" + formatDuration(-ns, lang);
  for (let i = 3, size = 1e9; i > 0; i--, size /= 1000) {
    const v = ns / size;
    if (v >= 0.9995) return `${fixed(v, v >= 100 ? 0 : v >= 10 ? 1 : 2, lang)} ${timeUnits[lang][i]}`;
  }
  return `${Math.round(ns)} ${timeUnits[lang][0]}`;
}

/** A size with a unit of powers of 1000: "1.5 KB". */
export function formatBytes(n: number, lang: Lang): string {
  if (n < 0) return "-" + formatBytes(-n, lang);
  if (n < 1000) return `${Number.isInteger(n) ? n : fixed(n, 1, lang)} ${form(n, "byte", lang)}`;
  let v = n / 1000;
  let unit = 1;
  for (; v >= 1000 && unit < byteUnits[lang].length - 1; unit++) v /= 1000;
  return `${fixed(v, 1, lang)} ${byteUnits[lang][unit]}`;
}

/** A count with thin spaces between thousands: "1 234 567". */
export function formatCount(n: number, lang: Lang): string {
  if (!Number.isInteger(n)) return formatDecimal(n, lang);
  return String(n).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** A number with three digits, or all digits before the point. */
export function formatDecimal(v: number, lang: Lang): string {
  const a = Math.abs(v);
  if (a >= 1000) return formatCount(Math.round(v), lang);
  return fixed(v, a >= 100 || v === 0 ? 0 : a >= 10 ? 1 : a >= 0.01 ? 2 : 4, lang);
}

/** The share of a whole: "12.3 %". */
export function formatPercent(part: number, whole: number, lang: Lang): string {
  const v = whole > 0 ? (100 * part) / whole : 0;
  return `${fixed(Number.isFinite(v) ? v : 0, 1, lang)} %`;
}

export function formatValue(v: number, unit: Unit, lang: Lang): string {
  switch (unit) {
    case "bytes":
      return formatBytes(Number.isInteger(v) ? v : v < 1000 ? Math.round(v * 10) / 10 : v, lang);
    case "bytes/s":
      return formatBytes(v < 1000 ? Math.round(v) : v, lang) + perSecond[lang];
    case "count/s":
      return formatDecimal(v, lang) + perSecond[lang];
    case "ns":
      return formatDuration(v, lang);
    case "share":
      return formatPercent(v, 1, lang);
  }
  return formatCount(v, lang);
}

/** A moment, with as many digits as its axis needs: the unit depends on the axis' greatest time, the digits
 * on its step. */
export function formatMoment(t: number, scale: { unit: number; digits: number }, lang: Lang): string {
  return `${fixed(t / 1000 ** scale.unit, scale.digits, lang)} ${timeUnits[lang][scale.unit]}`;
}

/** A number of things: "1 CF", "3 CFs". */
export function formatNumber(n: number, noun: Noun, lang: Lang): string {
  return `${formatCount(n, lang)} ${form(n, noun, lang)}`;
}

const rules = { en: new Intl.PluralRules("en"), ru: new Intl.PluralRules("ru") };
const places: Partial<Record<Intl.LDMLPluralRule, number>> = { one: 0, few: 1, many: 2, other: 1 };

/** The form of a noun after a number. English has two, Russian three. Fractions take the second. */
function form(n: number, noun: Noun, lang: Lang): string {
  return nouns[noun][lang][places[rules[lang].select(n)]!];
}
