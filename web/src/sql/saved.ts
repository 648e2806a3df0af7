// The queries that a user saved. They stay in the browser.

const place = "whyslow.queries";

/** Returns the saved queries by name; none where the browser keeps nothing or keeps something else there. */
export function saved(): Record<string, string> {
  try {
    const v: unknown = JSON.parse(localStorage.getItem(place) ?? "{}");
    if (typeof v !== "object" || v === null) return {};
    return Object.fromEntries(Object.entries(v)
      .filter((e): e is [string, string] => typeof e[1] === "string"));
  } catch {
    return {};
  }
}

/** Keeps these queries. It returns false where the browser does not. */
export function keep(list: Record<string, string>): boolean {
  try {
    localStorage.setItem(place, JSON.stringify(list));
    return true;
  } catch {
    return false;
  }
}
