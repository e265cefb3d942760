/** Texts and JSON values. */

/** Return the text with at most `limit` characters; an ellipsis stands for the rest. */
export function shortened(text: string, limit: number): string {
  // Half of a character that takes two units could not be stored.
  return text.length <= limit ? text : `${text.slice(0, limit - 1).replace(/\p{Surrogate}$/u, "")}…`;
}

/** Return a value as a model reads it: a text as it is, and anything else as JSON. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value ?? null) ?? "null");
}

/** Whether two JSON values are the same, whatever the order of their fields. */
export function same(one: unknown, other: unknown): boolean {
  return keeps(one, other) && keeps(other, one);
}

/** Whether a JSON value has everything of another one, as it is there; its objects may have more fields. */
export function keeps(value: unknown, kept: unknown): boolean {
  if (typeof value !== "object" || typeof kept !== "object" || value === null || kept === null) return value === kept;
  if (Array.isArray(value) !== Array.isArray(kept)) return false;
  if (Array.isArray(value) && Array.isArray(kept) && value.length !== kept.length) return false;
  const names = Object.keys(kept);
  return names.every((name) => Object.hasOwn(value, name) && keeps(member(value, name), member(kept, name)));
}

/** Return a JSON value with the fields of its objects in the order of their names. */
export function ordered(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(ordered);
  const names = Object.keys(value).sort();
  return Object.fromEntries(names.map((name) => [name, ordered(member(value, name))]));
}

function member(value: object, name: string): unknown {
  return (value as Readonly<Record<string, unknown>>)[name];
}
