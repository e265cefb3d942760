/** WebCrypto, which is global everywhere but in Node 18. */

/** Only what is used here: the types of Node and of browsers differ. */
export type WebCrypto = Pick<Crypto, "getRandomValues" | "subtle">;

export async function webCrypto(): Promise<WebCrypto> {
  if (globalThis.crypto !== undefined) return globalThis.crypto;
  // A variable, so that bundlers for browsers do not look for the module.
  const name = "node:crypto";
  return ((await import(/* webpackIgnore: true */ /* @vite-ignore */ name)) as { webcrypto: WebCrypto }).webcrypto;
}

/** Return the SHA-256 of a text. */
export async function digestOf(text: string): Promise<string> {
  const digest = await (await webCrypto()).subtle.digest("SHA-256", new TextEncoder().encode(text));
  return hex(new Uint8Array(digest));
}

/** Return a name of 40 digits for a content, which no one can compute without the secret. */
export async function keyedName(secret: string, content: string): Promise<string> {
  const { subtle } = await webCrypto();
  const [keyBytes, bytes] = [secret, content].map((text) => new TextEncoder().encode(text)) as [Uint8Array, Uint8Array];
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await subtle.importKey("raw", keyBytes as BufferSource, algorithm, false, ["sign"]);
  return hex(new Uint8Array(await subtle.sign("HMAC", key, bytes as BufferSource))).slice(0, 40);
}

/** Return a random name for a request. */
export async function newKey(): Promise<string> {
  const bytes = (await webCrypto()).getRandomValues(new Uint8Array(16));
  return hex(bytes);
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
