import { dictionary } from "../lib/i18n";

export const text = dictionary(
  {
    why: "Why it is slow", noAdvice: "Nothing stands out: no single reason explains much of the time.", stillRunning: (t: string) => `The run goes on. The reasons are those of its first ${t}; newer ones follow.`, gain: "Gain",
    factors: "Where the time goes", overTime: "Factors over time", perNode: "By node and worker", of: (t: string) => `${t} of processor time`, interval: (t: string) => `over the selected ${t}`, whole: "over the whole run", byWorker: "workers", extra: (t: string) => `and ${t} on cores beyond the workers`,
    region: "Function", regions: "Functions", where: "Call path",
    facts: "The run", program: "Program", args: "Arguments", state: "State", started: "Started", wall: "Lasted", size: "Nodes × workers", events: "Events", lost: "lost", trace: "Trace", bytes: "Size", hosts: "Hosts", kinds: "Events by kind", codes: "CFs by code fragment",
    warnings: "Warnings", problems: "Problems of the trace", balance: "What does not add up at the end", balanceOk: "Everything that was created is gone at the end: zero balance holds.",
    live: "Receiving", connected: "connected", away: "not connected", lag: "behind", unsent: "blocks the sender dropped", causes: "What was waited for most", producer: "Made by", consumer: "Needed by", df: "DF", times: "Times", part: "How",
    fragments: "Code fragments", useful: "Useful", mean: "Mean", caused: "Others waited", imbalance: "Longest to shortest worker",
    stuck: "The program could not finish", failed: "The program ended with an error", waitsFor: "waits for", leftCFs: (n: string) => `CFs left: ${n}`, leftMore: (n: string) => `CFs that wait for what these would have made: ${n}`, lookTimeline: "See it in the timeline", lookGraph: "Who makes what: the graph of code fragments",
    because: (_kind: string, _makers: string, _examples: string) => "",
  },
  {
    why: "Почему медленно", noAdvice: "Ничто не выделяется: ни одна причина не объясняет заметной доли времени.", stillRunning: (t) => `Запуск идёт. Причины найдены по его первым ${t}; новые появятся.`, gain: "Выигрыш",
    factors: "На что уходит время", overTime: "Факторы во времени", perNode: "По узлам и рабочим потокам", of: (t) => `процессорное время: ${t}`, interval: (t) => `за выбранные ${t}`, whole: "за весь запуск", byWorker: "рабочие потоки", extra: (t) => `и ещё ${t} на ядрах сверх рабочих потоков`,
    region: "Функция", regions: "Функции", where: "Путь вызова",
    facts: "Запуск", program: "Программа", args: "Аргументы", state: "Состояние", started: "Начат", wall: "Длился", size: "Узлы × рабочие потоки", events: "События", lost: "потеряно", trace: "Трасса", bytes: "Размер", hosts: "Машины", kinds: "События по видам", codes: "ФВ по фрагментам кода",
    warnings: "Предупреждения", problems: "Недостатки трассы", balance: "Что не сходится в конце", balanceOk: "Всё созданное к концу исчезло: нулевой баланс соблюдён.",
    live: "Приём", connected: "на связи", away: "нет связи", lag: "отставание", unsent: "блоков отброшено отправителем", causes: "Чего ждали больше всего", producer: "Создаёт", consumer: "Нужно для", df: "ФД", times: "Раз", part: "Как",
    fragments: "Фрагменты кода", useful: "Полезное", mean: "Среднее", caused: "Из-за него ждали", imbalance: "Самый долгий поток к самому короткому",
    stuck: "Программа не смогла завершиться", failed: "Программа завершилась с ошибкой", waitsFor: "ждёт", leftCFs: (n) => `осталось ФВ: ${n}`, leftMore: (n) => `ФВ, ждущих того, что создали бы эти: ${n}`, lookTimeline: "Посмотреть на временной шкале", lookGraph: "Кто что создаёт: граф фрагментов кода",
    because: (kind, makers, examples) =>
      ({
        nobody: makers ? `ни один из оставшихся ФВ не может его создать; ФД с таким именем создаёт ${makers}` : "в этом запуске его никто не создаёт",
        waits: `его создал бы ${examples || makers || "ФВ"}, который тоже ждёт`,
        maybe: `его могут создать ${makers || "ФВ"}, которые тоже ждут`,
        running: `его могли бы создать ФВ, которые не успели завершиться${makers ? `: ${makers}` : ""}`,
        destroyed: "он был создан, но запросы к нему исчерпаны: req_count меньше, чем запросов",
        coming: "он был создан и шёл сюда, когда трасса кончилась",
        elsewhere: "он был создан, но сюда не пришёл",
      })[kind] ?? "чего он ждёт, не записано",
  },
);
