import { counted, dictionary } from "../lib/i18n";

export const text = dictionary(
  {
    title: "Events", search: "Text in the event", kinds: "Kinds", allKinds: "All kinds",
    someKinds: (n: number) => counted(n, "kind"), all: "all", none: "none",
    node: "Node", anyNode: "Any node", code: "Code fragment", anyCode: "Any code fragment", link: "Link",
    anyLink: "Any link",
    rows: (n: number) => counted(n, "event"),
    looked: (s: string) => `${s} of the trace was looked through so far`, looking: "Looking…",
    interval: (a: string, b: string) => `${a} – ${b}`, followCursor: "Follow the cursor",
    tipFollow: "The list moves to the cursor's time; a click on an event sets the cursor",
    onlyThis: (k: string) => `Only ${k}`, tipOnly: "Only events of the selection",
    clear: "Remove all filters",
    time: "Time", where: "Node", kind: "Kind", event: "Event", about: "About",
    noCode: (c: string) => `This run has no code fragment ${c}.`, none_: "No event is like this.",
    system: "system",
    help: "Arrows: one event on or back and the cursor with it. Page up, page down, Home, End. Enter: tell " +
      "about its CF or DF.",
    stream: (node: number, s: string) => `Node ${node}, ${s}`, worker: (w: number) => `worker ${w}`,
  },
  {
    title: "События", search: "Текст события", kinds: "Виды", allKinds: "Все виды",
    someKinds: (n) => counted(n, "kind"), all: "все", none: "ни одного",
    node: "Узел", anyNode: "Любой узел", code: "Фрагмент кода", anyCode: "Любой фрагмент кода", link: "Связь",
    anyLink: "Любая связь",
    rows: (n) => counted(n, "event"), looked: (s) => `пока просмотрено ${s} трассы`, looking: "Поиск…",
    interval: (a, b) => `${a} – ${b}`, followCursor: "Следовать за курсором",
    tipFollow: "Список переходит ко времени курсора; щелчок по событию ставит курсор",
    onlyThis: (k) => `Только ${k}`, tipOnly: "Только события выбранного", clear: "Снять все фильтры",
    time: "Время", where: "Узел", kind: "Вид", event: "Событие", about: "О чём",
    noCode: (c) => `В этом запуске нет фрагмента кода ${c}.`, none_: "Таких событий нет.", system: "система",
    help: "Стрелки: на событие вперёд или назад, и курсор с ним. Page Up, Page Down, Home, End. Enter: " +
      "рассказать о его ФВ или ФД.",
    stream: (node, s) => `Узел ${node}, ${s}`, worker: (w) => `рабочий поток ${w}`,
  },
);
