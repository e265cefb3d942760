/** The digest of an input with its files, computed as Pausepoint does: the SHA-256 of canonical JSON (RFC 8785). */

import { digestOf } from "./crypto.js";
import { jsonOf } from "./json.js";

/** What the hashed text says of itself. */
const VERSION = "pausepoint.input.1";

/** What is approved of a file. */
export interface ApprovedFile {
  readonly name: string;
  readonly media_type: string;
  readonly size: number;
  readonly sha256: string;
}

/**
 * Return the digest of an input: `input_digest` of a request, or `approved_digest` of its decision. `attachments` are those of
 * the request, and `salt` is the `digest_salt` beside the digest. Throws TypeError for a value that JSON does not carry whole.
 */
export async function inputDigest(
  input: Readonly<Record<string, unknown>>,
  attachments: readonly ApprovedFile[] = [],
  salt: string | null = null,
): Promise<string> {
  const files = attachments.map(({ name, media_type, size, sha256 }) => ({ name, media_type, size, sha256 }));
  return `sha256:${await digestOf(canonical(jsonOf({ version: VERSION, input, attachments: files, salt })))}`;
}

/** Return the one form of a JSON value (RFC 8785): names in order, no space. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    // Sorted by the units of UTF-16, as RFC 8785 wants it.
    const names = Object.keys(value).sort();
    const member = (name: string): unknown => (value as Readonly<Record<string, unknown>>)[name];
    return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(member(name))}`).join(",")}}`;
  }
  const plain = value === null || typeof value === "string" || typeof value === "boolean" || Number.isFinite(value);
  if (!plain) throw new TypeError(`${String(value)} is not JSON.`);
  return JSON.stringify(value);
}
