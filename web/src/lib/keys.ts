// All keys of the page, in one table: what listens to them and what the help says of them.

import { text } from "./text";

interface Key {
  show?: string; // in the help; undefined: the letter of the code
  codes?: readonly string[]; // of the key's place, whatever the keyboard's language
  keys?: readonly string[]; // or of what it types
  shift?: boolean; // only with Shift; undefined: with or without it
}

export const table = {
  zoomIn: { codes: ["KeyW"] }, zoomOut: { codes: ["KeyS"] },
  left: { codes: ["KeyA"] }, right: { codes: ["KeyD"] },
  fit: { codes: ["KeyF"] },
  undo: { codes: ["KeyZ"], shift: false }, redo: { show: "Shift Z", codes: ["KeyZ"], shift: true },
  nextWait: { codes: ["KeyN"] }, lastWait: { codes: ["KeyP"] },
  selectFrom: { show: "[", keys: ["[", "х"] }, selectTo: { show: "]", keys: ["]", "ъ"] },
  back: { show: "←", keys: ["ArrowLeft"] }, on: { show: "→", keys: ["ArrowRight"] },
  lastCF: { show: ",", keys: [",", "б"], shift: false }, nextCF: { show: ".", keys: [".", "ю"], shift: false
    },
  up: { show: "↑", keys: ["ArrowUp"], shift: false }, down: { show: "↓", keys: ["ArrowDown"], shift: false },
  story: { show: "Enter", keys: ["Enter"], shift: false },
  mark: { codes: ["KeyM"], shift: false },
  search: { show: "/", keys: ["/"] }, play: { show: "Space", keys: [" "], shift: false },
  playBack: { show: "Shift Space", keys: [" "], shift: true },
  lastEvent: { codes: ["KeyJ"], shift: false }, nextEvent: { codes: ["KeyL"], shift: false },
  lastCFStart: { show: "Shift J", codes: ["KeyJ"], shift: true },
  nextCFStart: { show: "Shift L", codes: ["KeyL"], shift: true },
  view: { show: "1 … 9, 0", codes: Array.from({ length: 10 }, (_, i) => `Digit${i}`), shift: false },
  debug: { codes: ["KeyB"], shift: false }, goOn: { codes: ["KeyC"], shift: false },
  stepCF: { codes: ["KeyT"], shift: false },
  close: { show: "Esc", keys: ["Escape"] }, help: { show: "?", keys: ["?"] },
} satisfies Record<string, Key>;
export type Name = keyof typeof table;

/** How the help calls a key. */
export const shown = (name: Name): string => { const k: Key = table[name]; return k.show ??
  k.codes![0].slice("Key".length); };

/** The keys that the help lists together, with what they do. */
export const help = (): readonly [names: readonly Name[], what: string][] => [
  [["zoomIn", "zoomOut"], text.keyWS], [["left", "right"], text.keyAD], [["fit"], text.keyF],
  [["undo", "redo"], text.keyUndo], [["nextWait", "lastWait"], text.keyWaits], [["back", "on"],
    text.keyArrows], [["selectFrom", "selectTo"], text.keySelect],
  [["lastCF", "nextCF"], text.keyWalk], [["up", "down"], text.keyLanes], [["story"], text.keyEnter],
  [["mark"], text.keyMark],
  [["search"], text.keySlash], [["play"], text.keySpace], [["playBack"], text.playBack],
  [["lastEvent", "nextEvent"], text.keyEvents],
  [["lastCFStart", "nextCFStart"], text.keyCFs], [["debug"], text.keyDebug], [["goOn"], text.keyGoOn],
  [["stepCF"], text.keyStepCF], [["view"], text.keyDigits], [["close"], text.keyEsc],
  [["help"], text.keyQuestion],
];

/** What a key means, or undefined. */
export function meaning(e: Pick<KeyboardEvent, "key" | "code" | "shiftKey" | "ctrlKey" | "metaKey" |
  "altKey">): Name | undefined {
  if (e.ctrlKey || e.metaKey || e.altKey) return undefined;
  for (const [name, k] of Object.entries(table) as [Name, Key][]) {
    if ((k.codes?.includes(e.code) || k.keys?.includes(e.key)) && (k.shift ?? e.shiftKey) === e.shiftKey)
      return name;
  }
  return undefined;
}
