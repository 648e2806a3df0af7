// Short messages at the edge of the page.

export const toasts = $state<{ id: number; text: string; times: number }[]>([]);
let next = 0;

/** Shows a message for some seconds. A repeated message is counted instead of shown again. */
export function toast(text: string): void {
  const there = toasts.find((t) => t.text === text);
  if (there) {
    there.times++;
    return;
  }
  const id = next++;
  toasts.push({ id, text, times: 1 });
  if (toasts.length > 4) toasts.shift();
  setTimeout(() => dismiss(id), 8000);
}

export function dismiss(id: number): void {
  const i = toasts.findIndex((t) => t.id === id);
  if (i >= 0) toasts.splice(i, 1);
}
