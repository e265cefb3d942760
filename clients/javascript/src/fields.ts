/** Fields of requests as they are sent: with the names of the API, and files in base64. */

export type Json = Readonly<Record<string, unknown>>;

/** A file that is sent: bytes, or text in base64. */
export interface NewFile {
  name: string;
  content: Uint8Array | string;
  mediaType?: string;
}

/** Return fields with the names of the API: `toolName` is `tool_name`. Undefined fields are left out. */
export function sent(fields: object): Json {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    entries.map(([name, value]) => [name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), value]),
  );
}

export function sentFile({ content, ...file }: NewFile): Json {
  return sent({ ...file, content: typeof content === "string" ? content : base64(content) });
}

/** Return an answer with the files in it as they are sent. */
export function withFiles(answer: unknown): unknown {
  if (typeof answer !== "object" || answer === null || Array.isArray(answer)) return answer;
  return Object.fromEntries(Object.entries(answer).map(([name, value]) => [name, isFile(value) ? sentFile(value) : value]));
}

function isFile(value: unknown): value is NewFile {
  return (value as Partial<NewFile> | null | undefined)?.content instanceof Uint8Array;
}

function base64(bytes: Uint8Array): string {
  let text = "";
  // In parts, because a call takes only so many arguments.
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}
