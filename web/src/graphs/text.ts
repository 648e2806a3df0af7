import { dictionary, plural } from "../lib/i18n";

export const text = dictionary(
  {
    what: "Graph", nodes: "Nodes and links", codes: "Code fragments", around: "Around a fragment", fit: "Fit", zoomIn: "Zoom in", zoomOut: "Zoom out",
    help: "Wheel: zoom. Drag: move. Arrows, + and -: the same by keyboard; 0: fit.",
    layout: "Layout", circle: "circle", layered: "layers", width: "Width of links", bytes: "bytes", messages: "messages", wait: "latency",
    nodeTip: (n: number, host: string, useful: string, running: number, held: string) => `Node ${n} (${host}): useful ${useful}, ${running} CFs run on average, ${held} held`,
    linkTip: (from: number, to: number, m: string, b: string, w: string) => `${from} → ${to}: ${m} messages, ${b}, latency ${w}`,
    useful: "Useful share of the workers' time", onlyGreatest: (n: string) => `Only the ${n} greatest links are drawn.`, noNodes: "No node is known.",
    codeTip: (name: string, n: string, t: string) => `${name}: ${n} CFs, ${t} in all. A click shows them.`, dfsTip: (name: string, n: string, b: string) => `${name}: ${n} DFs, ${b}`, edgeTip: (n: string, b: string) => `${n} times, ${b}`,
    cfs: (n: number) => plural(n, "CF", "CFs"), dfs: (n: number) => plural(n, "DF", "DFs"), moreNodes: (n: number) => `${n} more are not drawn: ask for a shorter interval.`, laying: "Placing…",
    choose: "A click on a code fragment lists its CFs; a click on one of them shows what is around it.", theirCFs: (name: string) => `CFs of ${name}`, cf: "CF", start: "Start", time: "Time", node: "Node", close: "Close",
    chooseOne: "Choose a CF or DF: by a click in any view, by search (/), or in the graph of code fragments.", depth: "Depth", limit: "At most", centre: "Centre here", back: "Code fragments",
    at: (t: string) => `at ${t}`, nodeBand: (n: number) => `Node ${n}`, nowhere: "not here", tipNowhere: "On no node at this time, or on several",
    waiting: "waits", ready: "ready", running: "runs", finished: "finished", moving: "on its way", held: "held", made: "created", gone: "gone", absent: "not yet", more: (n: string) => `${n} more beyond these.`,
    codesNone: "No CF is known in this interval.", double: "Double click or Enter: centre there.",
  },
  {
    what: "Граф", nodes: "Узлы и связи", codes: "Фрагменты кода", around: "Вокруг фрагмента", fit: "Целиком", zoomIn: "Крупнее", zoomOut: "Мельче",
    help: "Колесо: масштаб. Перетаскивание: сдвиг. Стрелки, + и -: то же с клавиатуры; 0: целиком.",
    layout: "Размещение", circle: "по кругу", layered: "слоями", width: "Толщина связей", bytes: "байты", messages: "сообщения", wait: "задержка",
    nodeTip: (n, host, useful, running, held) => `Узел ${n} (${host}): полезной работы ${useful}, в среднем выполняется ФВ: ${running}, занято ${held}`,
    linkTip: (from, to, m, b, w) => `${from} → ${to}: сообщений ${m}, ${b}, задержка ${w}`,
    useful: "Доля полезной работы во времени рабочих потоков", onlyGreatest: (n) => `Показаны только наибольшие связи: ${n}.`, noNodes: "Узлы неизвестны.",
    codeTip: (name, n, t) => `${name}: ФВ ${n}, всего ${t}. Щелчок покажет их.`, dfsTip: (name, n, b) => `${name}: ФД ${n}, ${b}`, edgeTip: (n, b) => `раз: ${n}, ${b}`,
    cfs: (n) => plural(n, "ФВ", "ФВ", "ФВ"), dfs: (n) => plural(n, "ФД", "ФД", "ФД"), moreNodes: (n) => `Не показано ещё ${n}: выберите интервал короче.`, laying: "Размещение…",
    choose: "Щелчок по фрагменту кода покажет список его ФВ, щелчок по ФВ - то, что вокруг него.", theirCFs: (name) => `ФВ фрагмента ${name}`, cf: "ФВ", start: "Начало", time: "Время", node: "Узел", close: "Закрыть",
    chooseOne: "Выберите ФВ или ФД: щелчком в любом виде, поиском (/) или в графе фрагментов кода.", depth: "Глубина", limit: "Не более", centre: "В центр", back: "Фрагменты кода",
    at: (t) => `в момент ${t}`, nodeBand: (n) => `Узел ${n}`, nowhere: "не здесь", tipNowhere: "В этот момент ни на одном узле или на нескольких",
    waiting: "ожидает", ready: "готов", running: "выполняется", finished: "завершён", moving: "в пути", held: "хранится", made: "создан", gone: "удалён", absent: "ещё нет", more: (n) => `Дальше ещё ${n}.`,
    codesNone: "В этом интервале ФВ неизвестны.", double: "Двойной щелчок или Enter: в центр.",
  },
);
