import { dictionary } from "../lib/i18n";

export const text = dictionary(
  {
    title: "Two runs", runA: "Run A", runB: "Run B", swap: "Swap", choose: "Choose two runs to compare.", oneRun: "To compare, another run is needed: start whyslow view with several traces.", same: "Both are the same run.",
    axis: "Time axis", absolute: "absolute", stretched: "equal length", tipAbsolute: "Both with the same scale: the shorter run ends earlier", tipStretched: "Both as wide as the picture: phases of the same share are one above the other",
    color: "Colour", byFactor: "by factor", byCode: "by code fragment", factors: "Factors over time", lanes: "Workers", whole: "Whole axis", help: "Wheel: zoom. Drag: move. Double click: the whole axis.",
    scale: "Height", equalHeight: "same scale", ownHeight: "all workers", tipEqual: "Heights in workers: a run with twice as many is twice as high", tipOwn: "The height is all workers of the run",
    tables: "Figures", wholeRows: "The runs", factorRows: "By factor", partRows: "By part of a factor", fragmentRows: "By code fragment", pathRows: "Critical path", noPath: "One of the runs has no critical path: its events are not complete.",
    name: "Figure", a: "A", b: "B", change: "Change", relative: "%", share: "Share", tipShare: "How much of the difference of all processor time this row makes", code: "Code fragment", countA: "CFs A", countB: "CFs B", timeA: "Time A", timeB: "Time B", meanA: "Useful per CF A", meanB: "Useful per CF B",
    tipTime: "All processor time before and in its CFs", none: "(none)",
    wall: "Wall time", total: "Processor time", workerCount: "Workers", cfs: "CFs executed", t1: "Useful work (T1)", tinf: "Longest chain (T∞)", memory: "Most held by DFs", messages: "Messages", bytes: "Bytes sent",
    path: "All of the path", undivided: "Factors not known", tail: "After the last CF", side: (nodes: number, workers: number, ended: string) => `${nodes} × ${workers / Math.max(nodes, 1)} workers, ${ended}`, ended: "ended here", workers: (n: number) => `${n} workers`,
  },
  {
    title: "Два запуска", runA: "Запуск A", runB: "Запуск B", swap: "Поменять местами", choose: "Выберите два запуска для сравнения.", oneRun: "Для сравнения нужен ещё один запуск: откройте whyslow view с несколькими трассами.", same: "Это один и тот же запуск.",
    axis: "Ось времени", absolute: "абсолютная", stretched: "равной длины", tipAbsolute: "Один масштаб: более короткий запуск кончается раньше", tipStretched: "Оба шириной во всю картину: одинаковые доли времени друг под другом",
    color: "Цвет", byFactor: "по фактору", byCode: "по фрагменту кода", factors: "Факторы во времени", lanes: "Рабочие потоки", whole: "Вся ось", help: "Колесо: масштаб. Перетаскивание: сдвиг. Двойной щелчок: вся ось.",
    scale: "Высота", equalHeight: "один масштаб", ownHeight: "все потоки", tipEqual: "Высота в рабочих потоках: запуск с вдвое большим их числом вдвое выше", tipOwn: "Высота - все рабочие потоки запуска",
    tables: "Показатели", wholeRows: "Запуски", factorRows: "По факторам", partRows: "По частям факторов", fragmentRows: "По фрагментам кода", pathRows: "Критический путь", noPath: "У одного из запусков нет критического пути: его события неполны.",
    name: "Показатель", a: "A", b: "B", change: "Разность", relative: "%", share: "Доля", tipShare: "Какую часть разницы всего процессорного времени составляет эта строка", code: "Фрагмент кода", countA: "ФВ A", countB: "ФВ B", timeA: "Время A", timeB: "Время B", meanA: "Полезного на ФВ A", meanB: "Полезного на ФВ B",
    tipTime: "Всё процессорное время перед его ФВ и в них", none: "(нет)",
    wall: "Время выполнения", total: "Процессорное время", workerCount: "Рабочие потоки", cfs: "Исполнено ФВ", t1: "Полезная работа (T1)", tinf: "Самая длинная цепочка (T∞)", memory: "Наибольший объём ФД", messages: "Сообщения", bytes: "Отправлено байт",
    path: "Весь путь", undivided: "Факторы неизвестны", tail: "После последнего ФВ", side: (nodes, workers, ended) => `${nodes} × ${workers / Math.max(nodes, 1)} рабочих потоков, ${ended}`, ended: "конец", workers: (n) => `рабочих потоков: ${n}`,
  },
);
