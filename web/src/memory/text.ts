import { counted, dictionary } from "../lib/i18n";

export const text = dictionary(
  {
    title: "Bytes held by DFs", stacked: "stacked", lines: "lines", allNodes: "All nodes together",
    shape: "Shape", mean: "mean", peak: "peak", value: "Of each point",
    at: "Who holds memory", atCursor: "at the cursor", atPeak: "at the peak", when: "When",
    held: (b: string, t: string) => `${b} at ${t}`, peakIs: "the greatest of the interval",
    name: "DF name", node: "Node", copies: "Copies", bytes: "Bytes", code: "Produced by",
    oldest: "Oldest held for", example: "Largest",
    more: (n: number) => `${counted(n, "group")} more that hold less`,
    tipOldest: "How long the oldest of these copies has been held at this time",
    nothing: "Nothing is held at this time.",
    snapshot: "While the run goes on, who holds memory is known up to the last snapshot.",
  },
  {
    title: "Память, занятая ФД", stacked: "слоями", lines: "линиями", allNodes: "Все узлы вместе",
    shape: "Вид", mean: "среднее", peak: "наибольшее", value: "В каждой точке",
    at: "Кто занимает память", atCursor: "в момент курсора", atPeak: "в момент пика", when: "Когда",
    held: (b, t) => `${b} в момент ${t}`, peakIs: "наибольшее за интервал",
    name: "Имя ФД", node: "Узел", copies: "Копии", bytes: "Байты", code: "Производит", oldest: "Хранится",
    example: "Наибольший", more: (n) => `ещё ${counted(n, "group")} поменьше`,
    tipOldest: "Сколько времени к этому моменту хранится старейшая из этих копий",
    nothing: "В этот момент ничего не хранится.",
    snapshot: "Пока программа выполняется, владельцы памяти известны по последний снимок.",
  },
);
