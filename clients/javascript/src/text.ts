/** Texts and JSON values. */

/** Return the text with at most `limit` characters; an ellipsis stands for the rest. */
export function shortened(text: string, limit: number): string {
  // Half of a character that takes two units could not be stored.
  return text.length <= limit ? text : `${text.slice(0, limit - 1).replace(/\p{Surrogate}$/u, "")}…`;
}

/** Whether two JSON values are the same, whatever the order of their fields. */
export function same(one: unknown, other: unknown): boolean {
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return one === other;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && same(member(one, name), member(other, name)))
  );
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
