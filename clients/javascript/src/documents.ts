/** Members of responses. One of another type than the API promises is not understood, and nothing may run because of it. */

import { NotUnderstood } from "./errors.js";

type Kind = "string" | "object" | "array" | "null";

/** Return a member that has to be of one of these kinds; a missing one is null. Throws NotUnderstood. */
export function member<T>(document: object, name: string, ...kinds: readonly [Kind, ...Kind[]]): T {
  const value = Object.hasOwn(document, name) ? (document as Record<string, unknown>)[name] : null;
  if (!kinds.includes(kindOf(value) as Kind)) {
    throw new NotUnderstood(
      `In the response, \`${name}\` is missing or of another type. Check the address, and that the versions of the client ` +
        "and the server fit.",
    );
  }
  return value as T;
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}
