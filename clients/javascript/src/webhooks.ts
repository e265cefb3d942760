/** Webhooks of Pausepoint, which are signed as specified by Standard Webhooks. */

import { webCrypto } from "./crypto.js";

/** Seconds that the time of a webhook may differ from the clock here. */
const TOLERANCE = 300;
const PREFIX = "whsec_";

/** The webhook is not from Pausepoint, was changed on its way, or is too old. */
export class InvalidWebhook extends Error {
  override name = "InvalidWebhook";
}

/** The event of a webhook, with the field names of the API. */
export interface WebhookEvent {
  readonly type: string;
  /** The same for each repeat of a message. */
  readonly id: string;
  readonly timestamp: string;
  readonly workflow: string;
  readonly sequence: number;
  readonly data: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

export interface VerifyOptions {
  /** Seconds that the time of a webhook may differ from the clock here. The default is 300. */
  tolerance?: number;
}

/** Headers of `fetch` or of Node, or an object with names in any case. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Return the event of a webhook, once its signature and its time are checked. `body` is the raw body: check it before
 * you parse it. `secret` is one secret, or several while you rotate them. Throws InvalidWebhook.
 */
export async function verifyWebhook(
  body: string | Uint8Array | ArrayBuffer,
  headers: WebhookHeaders,
  secret: string | readonly string[],
  { tolerance = TOLERANCE }: VerifyOptions = {},
): Promise<WebhookEvent> {
  const [id, timestamp, signature] = ["id", "timestamp", "signature"].map((name) => header(headers, `webhook-${name}`));
  if (!id || !timestamp || !signature) throw new InvalidWebhook("A header of Standard Webhooks is missing.");
  if (!/^\d{1,15}$/.test(timestamp)) throw new InvalidWebhook("The time of the webhook is not a number.");
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > tolerance) {
    throw new InvalidWebhook("The webhook is too old, or its time is in the future.");
  }
  const content = typeof body === "string" ? new TextEncoder().encode(body) : new Uint8Array(body);
  const signed = joined(new TextEncoder().encode(`${id}.${timestamp}.`), content);
  if (!(await isSigned(signed, signature, typeof secret === "string" ? [secret] : secret))) {
    throw new InvalidWebhook("No signature of the webhook is valid for this secret and body.");
  }
  return JSON.parse(new TextDecoder().decode(content)) as WebhookEvent;
}

/** Whether one of the signatures, which are separated by spaces, was made with one of the secrets. */
async function isSigned(signed: Uint8Array<ArrayBuffer>, header: string, secrets: readonly string[]): Promise<boolean> {
  const { subtle } = await webCrypto();
  const signatures = header
    .split(" ")
    .filter((one) => one.startsWith("v1,"))
    .map((one) => decoded(one.slice(3)));
  for (const secret of secrets) {
    const bytes = decoded(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret);
    if (!bytes?.length) throw new TypeError("The secret of a webhook is base64, and begins with whsec_.");
    const key = await subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
    for (const signature of signatures) {
      // `verify` takes the same time wherever a signature differs.
      if (signature && (await subtle.verify("HMAC", key, signature, signed))) return true;
    }
  }
  return false;
}

function header(headers: WebhookHeaders, name: string): string {
  if (typeof Headers !== "undefined" && headers instanceof Headers) return headers.get(name) ?? "";
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return typeof found === "string" ? found : (found?.join(" ") ?? "");
}

function decoded(base64: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  } catch {
    return null;
  }
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}
