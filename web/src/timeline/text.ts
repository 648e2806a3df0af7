import { dictionary } from "../lib/i18n";

export const text = dictionary(
  {
    colourBy: "Colour by", byCode: "Code fragment", byFactor: "Factor", path: "Critical path", pathTip: "What the length of the run rests on", arrows: "Messages", arrowsTip: "DFs, CFs and requests that crossed nodes, the longest first",
    dense: "All lanes", denseTip: "Make lanes as low as is needed to see all of them", tooMany: (n: string) => `${n} CFs and gaps are in sight: zoom in to see each`, moreArrows: (n: string) => `${n} more messages are not drawn: zoom in to see them`,
    loading: "Loading…", waitedFor: "waited for", madeBy: "made by", forCF: "before", mostly: (p: string) => `${p} of this pixel`, structured: "run by the system", stillRunning: "still running", nothingKnown: "nothing known", others: "others",
    lanes: "Timeline: a lane per worker", minimap: "The whole run by factor; the frame is what is shown", pathStep: "On the critical path", legend: "Legend", gapsBy: "Gaps by cause:", missing: "The critical path needs what was not recorded:", onlyUpTo: "Single CFs are known up to here", walking: "Enter: its story; , and . go on, ↑ ↓ change the lane", df: "DF sent", cf: "CF sent", request: "Request", wait: "Waited for", keys: "Comma and full stop go from CF to CF, up and down from lane to lane, Enter opens the story", hint: "Ctrl+wheel or W/S zooms, drag selects, ? for more",
  },
  {
    colourBy: "Цвет", byCode: "Фрагмент кода", byFactor: "Фактор", path: "Критический путь", pathTip: "От чего зависит длительность запуска", arrows: "Сообщения", arrowsTip: "ФД, ФВ и запросы, прошедшие между узлами, сначала самые долгие",
    dense: "Все дорожки", denseTip: "Сделать дорожки настолько низкими, чтобы видеть все", tooMany: (n) => `Здесь ${n} ФВ и промежутков: приблизьте, чтобы увидеть каждый`, moreArrows: (n) => `Ещё ${n} сообщений не нарисовано: приблизьте`,
    loading: "Загрузка…", waitedFor: "ждали", madeBy: "создаёт", forCF: "перед", mostly: (p) => `${p} этого пикселя`, structured: "выполняет система", stillRunning: "ещё выполняется", nothingKnown: "ничего не известно", others: "другие",
    lanes: "Временная шкала: дорожка на каждый рабочий поток", minimap: "Весь запуск по факторам; рамка — то, что показано", pathStep: "На критическом пути", legend: "Обозначения", gapsBy: "Промежутки по причине:", missing: "Для критического пути не записано:", onlyUpTo: "Отдельные ФВ известны до этого места", walking: "Enter — история; , и . — дальше, ↑ ↓ — другая дорожка", df: "Передан ФД", cf: "Передан ФВ", request: "Запрос", wait: "Ждал", keys: "Запятая и точка переходят от ФВ к ФВ, стрелки вверх и вниз — по дорожкам, Enter открывает историю", hint: "Ctrl+колесо или W/S — масштаб, протянуть — выбрать, ? — справка",
  },
);
