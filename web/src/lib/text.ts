// Words of the frame around the views.

import { dictionary } from "./i18n";

export const text = dictionary(
  {
    overview: "Overview", timeline: "Timeline", nodes: "Nodes", links: "Links", graphs: "Graphs", events: "Events", fragments: "Fragments", memory: "Memory", compare: "Compare",
    views: "Views", run: "Run", noRuns: "No runs yet.", waitingForRuns: "Runs appear here as soon as they begin or are received.", language: "Language", theme: "Theme", light: "Light", dark: "Dark", auto: "As the system", skip: "To the contents",
    live: "live", done: "done", failed: "failed", stuck: "stuck", interrupted: "interrupted", killed: "killed", lostConnection: "Connection lost, trying again…",
    play: "Play", pause: "Pause", speed: "Speed", slower: (n: string) => `1:${n}`, follow: "Follow the live edge", cursor: "Cursor", selection: "Selected", visible: "Shown", clearSelection: "Clear the selection", fit: "Zoom to the selection (F)", wholeRun: "The whole run", toStart: "To the beginning", toEnd: "To the end", notAll: (s: string) => `single CFs up to ${s}`,
    position: "Time of the cursor",
    search: "Search (/)", searchHint: "Search by name, label x[3] or number (/)", found: (n: string) => `${n} found`, nothingFound: "Nothing found", instances: (n: string) => `${n} more like it`,
    help: "Help", helpTitle: "Keys and mouse", exportTrace: "Save the interval as a trace", copyLink: "Copy a link to what is shown", copied: "The link is copied",
    tokenTitle: "This server asks for a token", tokenText: "It is what was given as --token when the server was started.", tokenWrong: "That token is not the right one.", token: "Token", open: "Open",
    filters: "Only", filterNode: (n: string) => `node ${n}`, filterLink: (l: string) => `link ${l}`, filterCode: (c: string) => `code fragment ${c}`, removeFilter: "Show all again",
    storyOf: "Story", showInTimeline: "Show in the timeline", eventsOf: "Its events", graphAround: "Graph around it", filterTo: "Filter everything to it", filterOff: "Remove the filter", state: "State", waiting: "waiting", ready: "ready", running: "running", finished: "finished", moving: "moving",
    createdBy: "Created by", inputs: "Inputs", outputs: "Outputs", children: "Creates", producer: "Made by", consumers: "Used by", heldBy: "Held by", cost: "Gap before it", total: "Ran", ranOn: (l: string, t: string) => `on worker ${l} for ${t}`, cpu: (t: string) => `${t} of processor time`, weight: "Weight", source: "Source", whatHappened: "What happened", copyOn: (n: number) => `copy on node ${n}`, until: "until", now: "still there", size: "Size",
    linkFacts: "Link at the cursor", nodeFacts: "Node at the cursor", codeFacts: "Code fragment", objects: "Objects sent", objectBytes: "Their bytes", messages: "Messages", messageBytes: "Bytes of messages", sendQueue: "Queue to send", inFlight: "On the way now", noTraffic: "Nothing was sent over it up to this time", count: "CFs", mean: "Mean", longest: "Longest", caused: "Others waited for it", openIn: (v: string) => `In ${v}`,
    cfs: "CFs here", copies: "Copies of DFs", held: "Bytes held", ready_queue: "Ready queue", runningOf: "Workers running",
    keyMouse: "In plots and in the timeline", keyClick: "Click", keyClickText: "set the cursor; on a CF: its story", keyDrag: "Drag", keyDragText: "select an interval, which rules every view", keyShiftDrag: "Shift + drag", keyShiftDragText: "move along the time axis", keyCtrlWheel: "Ctrl + wheel", keyCtrlWheelText: "zoom at the mouse", keyShiftWheel: "Shift + wheel", keyShiftWheelText: "move along the time axis", keyWheel: "Wheel", keyWheelText: "lanes up and down", keyDouble: "Double click", keyDoubleText: "zoom to the CF, to the selection, or out",
    keyWS: "zoom in and out", keyAD: "move left and right", keyF: "zoom to the selection; again: to the whole run", keySlash: "search", keySpace: "play and pause", keyArrows: "move the cursor by a pixel; with Shift by ten", keyEsc: "close, clear the selection", keyDigits: "views", keyQuestion: "this help",
  },
  {
    overview: "Обзор", timeline: "Временная шкала", nodes: "Узлы", links: "Связи", graphs: "Графы", events: "События", fragments: "Фрагменты", memory: "Память", compare: "Сравнение",
    views: "Виды", run: "Запуск", noRuns: "Запусков пока нет.", waitingForRuns: "Они появятся здесь, как только начнутся или будут получены.", language: "Язык", theme: "Тема", light: "Светлая", dark: "Тёмная", auto: "Как в системе", skip: "К содержанию",
    live: "идёт", done: "завершён", failed: "ошибка", stuck: "застрял", interrupted: "прерван", killed: "убит", lostConnection: "Соединение потеряно, пробуем снова…",
    play: "Пуск", pause: "Пауза", speed: "Скорость", slower: (n) => `1:${n}`, follow: "Следовать за концом", cursor: "Курсор", selection: "Выбрано", visible: "Показано", clearSelection: "Снять выделение", fit: "Показать выбранное (F)", wholeRun: "Весь запуск", toStart: "В начало", toEnd: "В конец", notAll: (s) => `отдельные ФВ до ${s}`,
    position: "Время курсора",
    search: "Поиск (/)", searchHint: "Поиск по имени, метке x[3] или номеру (/)", found: (n) => `найдено: ${n}`, nothingFound: "Ничего не найдено", instances: (n) => `ещё ${n} таких`,
    help: "Справка", helpTitle: "Клавиши и мышь", exportTrace: "Сохранить интервал как трассу", copyLink: "Скопировать ссылку на показанное", copied: "Ссылка скопирована",
    tokenTitle: "Сервер спрашивает токен", tokenText: "Это то, что было дано в --token при запуске сервера.", tokenWrong: "Этот токен не подходит.", token: "Токен", open: "Открыть",
    filters: "Только", filterNode: (n) => `узел ${n}`, filterLink: (l) => `связь ${l}`, filterCode: (c) => `фрагмент кода ${c}`, removeFilter: "Снова показать всё",
    storyOf: "История", showInTimeline: "Показать на временной шкале", eventsOf: "События", graphAround: "Граф вокруг", filterTo: "Отобрать всё по этому", filterOff: "Снять отбор", state: "Состояние", waiting: "ждёт", ready: "готов", running: "выполняется", finished: "завершён", moving: "в пути",
    createdBy: "Создан", inputs: "Входы", outputs: "Выходы", children: "Создаёт", producer: "Создан", consumers: "Использован", heldBy: "Где хранится", cost: "Промежуток перед ним", total: "Выполнялся", ranOn: (l, t) => `на рабочем потоке ${l}: ${t}`, cpu: (t) => `процессорное время ${t}`, weight: "Вес", source: "Исходный текст", whatHappened: "Что было", copyOn: (n) => `копия на узле ${n}`, until: "до", now: "ещё там", size: "Размер",
    linkFacts: "Связь в момент курсора", nodeFacts: "Узел в момент курсора", codeFacts: "Фрагмент кода", objects: "Отправлено объектов", objectBytes: "Их объём", messages: "Сообщений", messageBytes: "Объём сообщений", sendQueue: "Очередь на отправку", inFlight: "Сейчас в пути", noTraffic: "До этого времени по ней ничего не отправлено", count: "ФВ", mean: "Среднее", longest: "Самый долгий", caused: "Из-за него ждали", openIn: (v) => `${v}`,
    cfs: "ФВ здесь", copies: "Копий ФД", held: "Байт занято", ready_queue: "Очередь готовых", runningOf: "Занято рабочих потоков",
    keyMouse: "На графиках и временной шкале", keyClick: "Щелчок", keyClickText: "поставить курсор; на ФВ: его история", keyDrag: "Протянуть", keyDragText: "выбрать интервал, он действует во всех видах", keyShiftDrag: "Shift + протянуть", keyShiftDragText: "двигаться по времени", keyCtrlWheel: "Ctrl + колесо", keyCtrlWheelText: "масштаб у мыши", keyShiftWheel: "Shift + колесо", keyShiftWheelText: "двигаться по времени", keyWheel: "Колесо", keyWheelText: "дорожки вверх и вниз", keyDouble: "Двойной щелчок", keyDoubleText: "показать ФВ, выбранное или всё",
    keyWS: "крупнее и мельче", keyAD: "влево и вправо", keyF: "показать выбранное; ещё раз: весь запуск", keySlash: "поиск", keySpace: "пуск и пауза", keyArrows: "курсор на пиксель; с Shift на десять", keyEsc: "закрыть, снять выделение", keyDigits: "виды", keyQuestion: "эта справка",
  },
);
