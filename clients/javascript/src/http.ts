/** Calls to the API, retried until there is a final response. */

import { keyedName } from "./crypto.js";
import { NotUnderstood, Refused, Unreachable } from "./errors.js";
import { encoded } from "./json.js";

/** Seconds that any call may take in addition to waiting. */
const GRACE = 20;
/** Statuses that may pass: a server that restarts, a proxy without a server, too many calls. */
const PASSING = new Set([408, 425, 429, 500, 502, 503, 504]);
/** Seconds between two attempts: at first, and at most. */
const FIRST_PAUSE = 0.25;
const LONGEST_PAUSE = 15;

interface Process {
  env?: Record<string, string | undefined>;
  versions?: { node?: string };
}

export interface CallOptions {
  /** Sent as JSON. */
  body?: unknown;
  headers?: Record<string, string>;
  /** Seconds that the server may wait before it responds. */
  wait?: number;
  signal?: AbortSignal | undefined;
}

/** What is sent, in each attempt: a body that JSON does not carry whole is refused before the first one. */
type Sending = Omit<CallOptions, "body"> & { text?: string };

type Heard = { lost: string } | { status: number; content: Uint8Array; retryAfter: number };
type Answered = Extract<Heard, { status: number }>;

/** A key, or a function that returns the present token of an issuer. */
export type Key = string | (() => string | Promise<string>);

/** One installation, reached with one key. */
export class Connection {
  readonly #base: string;
  readonly #key: Key;
  readonly #secret: string;
  readonly #headers: Record<string, string> = {};
  readonly #fetch: typeof fetch;

  constructor(
    address: string,
    key: Key,
    readonly patience: number,
    fetcher?: typeof fetch,
    secret?: string,
  ) {
    const { env = {}, versions = {} } = (globalThis as { process?: Process }).process ?? {};
    address ||= env.PAUSEPOINT_URL ?? "";
    key ||= env.PAUSEPOINT_KEY ?? "";
    if (!address || !key) {
      throw new TypeError("Give the address and a key of Pausepoint, or set PAUSEPOINT_URL and PAUSEPOINT_KEY.");
    }
    if (!/^https?:\/\//.test(address)) {
      throw new TypeError(`The address must begin with https:// or http://: ${JSON.stringify(address)}`);
    }
    this.#base = `${address.replace(/\/+$/, "")}/api/v1`;
    this.#key = typeof key === "string" ? printable("key", key) : key;
    this.#secret = secret || env.PAUSEPOINT_SECRET || (typeof key === "string" ? `Bearer ${key}` : "");
    // A browser would have to ask the server first whether it may send this header.
    if (versions.node) this.#headers["User-Agent"] = "pausepoint-javascript";
    this.#fetch = fetcher ?? ((...given) => globalThis.fetch(...given));
  }

  /** Return a name for a content that no one can compute without the key or secret. */
  async nameOf(content: string): Promise<string> {
    if (!this.#secret) {
      throw new TypeError(
        "Tokens change, so names of calls need a secret that stays the same: give `secret`, or set PAUSEPOINT_SECRET.",
      );
    }
    return keyedName(this.#secret, content);
  }

  /**
   * Return the JSON response of a call. Throws TypeError for a body that JSON does not carry whole, Refused, Unreachable, or
   * the reason of the signal.
   */
  async send<T>(method: string, path: string, { body, ...options }: CallOptions = {}): Promise<T> {
    const sending = body === undefined ? options : { ...options, text: encoded(body) };
    const { status, content } = await this.#sure(method, path, sending);
    return read(status, content) as T;
  }

  /** Return the content of a file. Throws Refused, Unreachable, or the reason of the signal. */
  async bytes(path: string, signal?: AbortSignal): Promise<Uint8Array> {
    const { status, content } = await this.#sure("GET", path, { signal });
    if (status !== 200) read(status, content);
    return content;
  }

  async #sure(method: string, path: string, options: Sending): Promise<Answered> {
    let until = Infinity;
    for (let pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
      const heard = await this.#call(method, path, options);
      if ("content" in heard && !PASSING.has(heard.status)) return heard;
      // Patience counts from the first failure: a call may wait for long before it fails.
      until = Math.min(until, seconds() + this.patience);
      const left = until - seconds();
      if (left <= 0) {
        const reason = "lost" in heard ? heard.lost : `it answered ${heard.status}`;
        throw new Unreachable(`Pausepoint cannot be reached: ${reason}`);
      }
      const askedFor = "lost" in heard ? 0 : heard.retryAfter;
      // Random, because many agents may be waiting for the same server to come back.
      await sleep(Math.min(Math.max(askedFor, pause * (0.5 + Math.random())), left), options.signal);
    }
  }

  async #call(method: string, path: string, { text, headers, wait = 0, signal }: Sending): Promise<Heard> {
    signal?.throwIfAborted();
    const key = typeof this.#key === "string" ? this.#key : printable("key", await this.#key());
    const given = new AbortController();
    const abort = (): void => given.abort(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    const timer = setTimeout(() => given.abort(new Error("it did not answer in time")), (wait + GRACE) * 1000);
    try {
      const response = await this.#fetch(this.#base + path, {
        method,
        headers: {
          ...traceHeaders(),
          Authorization: `Bearer ${key}`,
          ...this.#headers,
          ...headers,
          ...(text === undefined ? {} : { "Content-Type": "application/json" }),
        },
        ...(text === undefined ? {} : { body: text }),
        credentials: "omit",
        // The key is for this address only.
        redirect: "manual",
        signal: given.signal,
      });
      const content = new Uint8Array(await response.arrayBuffer());
      const asked = response.headers.get("retry-after") ?? "";
      return { status: response.status, content, retryAfter: /^\d+$/.test(asked) ? Number(asked) : 0 };
    } catch (error) {
      signal?.throwIfAborted();
      return { lost: wordsOf(given.signal.aborted ? given.signal.reason : error) };
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    }
  }
}

/** Return the JSON of a response. Throws Refused. */
function read(status: number, content: Uint8Array): unknown {
  let found: unknown;
  try {
    found = JSON.parse(new TextDecoder().decode(content));
  } catch {
    found = undefined;
  }
  if (typeof found !== "object" || found === null || Array.isArray(found)) {
    throw new NotUnderstood("The response is not from Pausepoint. Check the address.", status);
  }
  if (status < 200 || status >= 300) throw new Refused(status, found as Record<string, unknown>);
  return found;
}

/** The API of OpenTelemetry, which registers itself under this name where a program has loaded it. */
const OPENTELEMETRY = Symbol.for("opentelemetry.js.api.1");

interface OpenTelemetry {
  context?: { active(): unknown };
  propagation?: {
    inject(context: unknown, carrier: object, setter: { set(carrier: object, name: string, value: string): void }): void;
  };
}

/** Return the current trace context, without its baggage; empty without a span, or if OpenTelemetry is not loaded. */
function traceHeaders(): Record<string, string> {
  const headers: Record<string, string> = {};
  const api = (globalThis as { [OPENTELEMETRY]?: OpenTelemetry })[OPENTELEMETRY];
  if (api?.context && api.propagation) {
    api.propagation.inject(api.context.active(), headers, {
      set(_carrier, name, value) {
        if (name === "traceparent" || name === "tracestate") headers[name] = value;
      },
    });
  }
  return headers;
}

/** Return the words of an error; those of a failed `fetch` are in its cause. */
function wordsOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return String(cause);
  return cause.message || String((cause as { code?: unknown }).code ?? cause.name);
}

/** Wait for so many seconds. Throws the reason of the signal. */
export function sleep(duration: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, duration * 1000);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}

/** Return `value` if it can be sent in a header. Throws TypeError. */
export function printable(name: string, value: string): string {
  if (!/^[ -~]*$/.test(value))
    throw new TypeError(`${name} may contain only printable ASCII: ${JSON.stringify(value)}`);
  return value;
}

/** Seconds of a clock that does not go back. */
export function seconds(): number {
  return performance.now() / 1000;
}
