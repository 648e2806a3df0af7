/** A text shortened to so many letters. The middle is cut, because names often differ at their ends. */
export function cut(s: string, letters: number): string {
  if (s.length <= letters) return s;
  const front = Math.ceil((letters - 1) / 2);
  return `${s.slice(0, front)}…${s.slice(s.length - (letters - 1 - front))}`;
}
