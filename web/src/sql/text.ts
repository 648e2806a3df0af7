import { counted, dictionary } from "../lib/i18n";

export const text = dictionary(
  {
    query: "Query", run: "Run", runTip: "Ctrl+Enter", ours: "Come with whyslow", own: "Saved in this browser",
    choose: "Queries…", save: "Save", saveAs: "Name of the query", remove: (n: string) => `Delete “${n}”`,
    tables: "Tables", key: "key", refers: (to: string) => `refers to ${to}`,
    rows: (n: number, ms: string) => `${counted(n, "row")} in ${ms}`,
    left: (n: number) => `Only the first ${counted(n, "row")} are here.`,
    table: "Table", plot: "Plot", show: "Show", result: (n: number) => `Result ${n}`,
    x: "Across", y: "Upwards", nothing: "The query found nothing.", noNumbers: "No column has numbers.",
    at: (line: number, column: number) => `Line ${line}, character ${column}`,
    fewer: (n: number) => `Only the first ${n} are drawn.`,
    help: "Times are nanoseconds since the start of the run.",
    notSaved: "This browser stores nothing, so the query is not saved.",
  },
  {
    query: "Запрос", run: "Выполнить", runTip: "Ctrl+Enter", ours: "Готовые",
    own: "Сохранённые в этом браузере", choose: "Запросы…", save: "Сохранить", saveAs: "Имя запроса",
    remove: (n) => `Удалить «${n}»`, tables: "Таблицы", key: "ключ", refers: (to) => `ссылается на ${to}`,
    rows: (n, ms) => `${counted(n, "row")} за ${ms}`,
    left: (n) => `Здесь только начало: ${counted(n, "row")}.`,
    table: "Таблица", plot: "График", show: "Показать", result: (n) => `Результат ${n}`,
    x: "По горизонтали", y: "По вертикали", nothing: "Запрос ничего не нашёл.",
    noNumbers: "Ни в одном столбце нет чисел.",
    at: (line, column) => `Строка ${line}, символ ${column}`,
    fewer: (n) => `Нарисованы только первые ${n}.`,
    help: "Времена в наносекундах от начала запуска.",
    notSaved: "Этот браузер ничего не хранит: запрос не сохранён.",
  },
);
