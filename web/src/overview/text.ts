import { dictionary } from "../lib/i18n";

export const text = dictionary(
  {
    why: "Why it is slow", noAdvice: "Nothing stands out: no single reason explains much of the time.", stillRunning: (t: string) => `The run goes on. The reasons are those of its first ${t}; newer ones follow.`, gain: "Gain", bound: "Why no more", blocking: "only then can the program end",
    gainNone: "nothing to be saved", gainBytes: (n: string) => `up to ${n} less memory at the peak`, gainWall: (t: string, of: string, p: string) => `up to ${t} of the run's ${of}, ${p}`, gainTime: (t: string, p: string) => `up to ${t} of processor time, ${p}`,
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
    why: "Почему медленно", noAdvice: "Ничто не выделяется: ни одна причина не объясняет заметной доли времени.", stillRunning: (t) => `Запуск идёт. Причины найдены по его первым ${t}; новые появятся.`, gain: "Выигрыш", bound: "Почему не больше", blocking: "только тогда программа сможет завершиться",
    gainNone: "сокращать нечего", gainBytes: (n) => `до ${n} памяти в наибольшем`, gainWall: (t, of, p) => `до ${t} из ${of}, ${p}`, gainTime: (t, p) => `до ${t} процессорного времени, ${p}`,
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

// What a piece of advice says, in a few words, by its name.
export const headlines = dictionary(
  {
    "one-node": "Nearly all work is on one node: spread it", distribution: "Work is uneven: some nodes idle while others have CFs ready", order: "CFs that others wait for are run late: run them first", parallelism: "There is too little to do at the same time",
    "fewer-workers": "Fewer workers would be as fast", "too-many-nodes": "Fewer nodes would be faster", "too-many-workers": "There are more workers than cores", contention: "Workers wait for a lock or for something outside", "far-data": "Data is made far from where it is used",
    "late-transfer": "Data is sent late: store it where it is used", migration: "CFs are created far from where they run", overhead: "The system's own work takes long", preempted: "Other work takes the processor from running CFs", replicate: "The same data is sent again and again: keep a copy on every node",
    "too-small": "CFs are too small for what each costs", "too-small-to-send": "CFs are too small to be worth sending their data", "asked-again": "The same node asks for the same data again", "too-large": "Messages are large and nothing is done meanwhile", "extra-cores": "Time was used beside the workers",
    "locators-disagree": "Locators of data and CFs disagree", "never-freed": "Data is kept longer than it is needed",
    "start-up": "Much of the run is start and end", "late-thread": "One thread comes last: give it less work", "uneven-steps": "Threads wait for each other by turns", "relax-entry": "Collectives wait for all without need", "proven-entry": "Collectives wait for what a barrier has just made sure of",
    "relax-exit": "Collectives wait at their end, and a barrier follows", "double-barrier": "A barrier follows right after a barrier", "alloc-in-loop": "Shared memory is allocated again and again", "lock-contention": "Threads wait for a lock that another one has",
    overlap: "Transfers wait for each other: begin them together", "hide-transfers": "Threads stand still during transfers", await: "Threads wait for a value from another one", completion: "Threads wait for their own transfers",
  },
  {
    "one-node": "Почти вся работа на одном узле: распределите её", distribution: "Нагрузка неравномерна: одни узлы простаивают, когда на других есть готовые ФВ", order: "ФВ, которых ждут другие, выполняются поздно: выполняйте их раньше", parallelism: "Одновременно слишком мало работы",
    "fewer-workers": "Меньше рабочих потоков дали бы ту же скорость", "too-many-nodes": "На меньшем числе узлов было бы быстрее", "too-many-workers": "Рабочих потоков больше, чем ядер", contention: "Рабочие потоки ждут блокировку или внешнее", "far-data": "Данные создаются далеко от места использования",
    "late-transfer": "Данные отправляются поздно: храните их там, где они нужны", migration: "ФВ создаются далеко от места выполнения", overhead: "Много времени уходит на работу самой системы", preempted: "Процессор отбирают у выполняющихся ФВ", replicate: "Одни и те же данные передаются снова и снова: храните копию на каждом узле",
    "too-small": "ФВ слишком мелкие по сравнению с накладными расходами", "too-small-to-send": "ФВ слишком мелкие, чтобы передавать для них данные", "asked-again": "Один узел снова запрашивает те же данные", "too-large": "Сообщения велики, и во время передачи нечего делать", "extra-cores": "Время потрачено помимо рабочих потоков",
    "locators-disagree": "Локаторы данных и ФВ не согласованы", "never-freed": "Данные хранятся дольше, чем нужны",
    "start-up": "Большую часть времени занимают начало и завершение", "late-thread": "Один поток приходит последним: дайте ему меньше работы", "uneven-steps": "Потоки по очереди ждут друг друга", "relax-entry": "Коллективные операции без нужды ждут всех", "proven-entry": "Коллективные операции ждут того, что уже обеспечил барьер",
    "relax-exit": "Коллективные операции ждут в конце, а за ними следует барьер", "double-barrier": "Барьер следует сразу за барьером", "alloc-in-loop": "Общая память выделяется снова и снова", "lock-contention": "Потоки ждут занятой блокировки",
    overlap: "Передачи ждут друг друга: начинайте их вместе", "hide-transfers": "Потоки простаивают во время передач", await: "Потоки ждут значения от другого потока", completion: "Потоки ждут завершения своих передач",
  },
);
