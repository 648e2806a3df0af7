// Programs of OpenMP have words of their own: their CFs are tasks, their workers threads. When the page shows
// such a run, it says its sentences in these words, by the rules that reports go by (words.gen.ts).

import type { Lang } from "./units";
import { taskWords } from "./words.gen";

/** The words that the run that is shown has. */
export const terms = $state({ tasks: false });

const rule = ([word, by]: string[]): [RegExp, string] => [new RegExp(word ?? "", "g"), by ?? ""];
const rules: Record<Lang, [RegExp, string][]> = { en: taskWords.en.map(rule), ru: taskWords.ru.map(rule) };

/** A sentence in OpenMP's words. What the program calls something stays: names are among the given ones. */
export function ofTasks(text: string, lang: Lang, names: unknown[] = []): string {
  const kept = names.filter((n): n is string => typeof n === "string" && n !== "");
  let out = kept.reduce((s, name, i) => s.replaceAll(name, `\u0000${i}\u0000`), text);
  for (const [word, by] of rules[lang]) out = out.replace(word, by);
  return out.replace(/\u0000(\d+)\u0000/g, (_, i: string) => kept[Number(i)] ?? "");
}

/** The sentence as the run that is shown wants it. */
export const inTerms = (text: string, lang: Lang, names?: unknown[]): string =>
  terms.tasks ? ofTasks(text, lang, names) : text;
