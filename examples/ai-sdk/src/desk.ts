/** Pausepoint over HTTP, except for the stream, which the AI SDK reads: tokens, the stored chat, stop, errors. */

import type { UIMessage } from "ai";

/** Empty: through the server of this page. Otherwise the address of Pausepoint, with this origin in its CORS_ALLOWED_ORIGINS. */
export const BASE: string = import.meta.env.VITE_PAUSEPOINT_URL ?? "";

/** A waiting request; `url` is its page in Pausepoint. */
export type Pending = {
  requestId: string;
  kind: "approval" | "question" | "form" | "recovery";
  title: string;
  toolCallId: string;
  url: string;
  deadline: string | null;
};

/** The stored chat. */
export type History = {
  messages: UIMessage[];
  status: "idle" | "queued" | "running" | "suspended" | "failed";
  pending: Pending[];
};

export type Decision = { request_id: string; verdict: string; by: string | null; decided_at: string };

/** An error: a problem document (RFC 9457), or the text in its place. `status` is 0 if there was no response. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly detail: string,
    readonly code = "",
    readonly decision?: Decision,
  ) {
    super(detail);
  }

  /** The AI SDK throws an error with the status, whose message is the body; a `TypeError` if there was no response. */
  static of(error: unknown): Problem {
    if (error instanceof Problem) return error;
    if (error instanceof TypeError) return new Problem(0, `Pausepoint cannot be reached (${error.message}).`);
    const words = error instanceof Error ? error.message : String(error);
    const status = error instanceof Error && "statusCode" in error ? Number(error.statusCode) : 0;
    return status ? Problem.read(status, words) : new Problem(0, words);
  }

  static read(status: number, body: string): Problem {
    try {
      const { detail, code, decision } = JSON.parse(body);
      if (typeof detail === "string") return new Problem(status, detail, code, decision);
    } catch {
      // Not JSON: the text of a proxy, which is not meant for people.
    }
    return new Problem(status, `Pausepoint cannot be reached (status ${status}).`);
  }
}

const NOTHING: History = { messages: [], status: "idle", pending: [] };
const RENEW_EARLY = 60_000;

export class Desk {
  #token: Promise<{ token: string; until: number }> | undefined;

  constructor(readonly chatId: string) {}

  /** Headers of every call; the transport of the AI SDK takes this function. */
  headers = async (): Promise<Record<string, string>> => {
    const known = await this.#token?.catch(() => undefined);
    if (!known || known.until - Date.now() < RENEW_EARLY) this.#token = this.#newToken();
    return { Authorization: `Bearer ${(await this.#token!).token}` };
  };

  /** Get a new token for the next call, after a 401. */
  forget(): void {
    this.#token = undefined;
  }

  /** Return the chat, or null if it has not changed since `etag`. */
  async read(etag = ""): Promise<{ history: History; etag: string } | null> {
    const response = await this.#call("", { headers: etag ? { "If-None-Match": etag } : {} });
    if (response.status === 304) return null;
    if (response.status === 404) return { history: NOTHING, etag: "" }; // nothing was ever sent
    if (!response.ok) throw Problem.read(response.status, await response.text());
    return { history: await response.json(), etag: response.headers.get("ETag") ?? "" };
  }

  async stop(): Promise<void> {
    const response = await this.#call("/stop", { method: "POST" });
    if (!response.ok) throw Problem.read(response.status, await response.text());
  }

  async #call(end: string, options: RequestInit): Promise<Response> {
    const headers = { ...(await this.headers()), ...options.headers };
    const address = `${BASE}/api/chat/${encodeURIComponent(this.chatId)}${end}`;
    const response = await fetch(address, { ...options, headers, cache: "no-store" });
    if (response.status === 401) this.forget();
    return response;
  }

  async #newToken() {
    const asked = Date.now();
    const response = await fetch("/client-token", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ chat: this.chatId, seconds: 900 }),
    });
    if (!response.ok) throw Problem.read(response.status, await response.text());
    const { token } = await response.json();
    return { token, until: asked + 900_000 }; // by this machine's clock alone, whatever the server's says
  }
}
