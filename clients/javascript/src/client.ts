/**
 * The client. Every call is retried while Pausepoint cannot be reached. Retries do nothing twice: Pausepoint recognizes
 * a repeat by its `toolCallId` or `idempotencyKey`.
 */

import { newKey } from "./crypto.js";
import { member } from "./documents.js";
import { Refused, StillWaiting } from "./errors.js";
import { sent, sentFile, withFiles } from "./fields.js";
import type { Json, NewFile } from "./fields.js";
import { Connection, type Key, printable, seconds } from "./http.js";
import { Outcome } from "./outcome.js";
import type { FileDocument, RequestDocument, Verdict } from "./outcome.js";
import { reportable } from "./reportable.js";

/** Seconds that one call waits for the decision. */
const WAIT = 50;

export type { NewFile };

/** The fields of a request; the page `/api/v1/` of your installation describes each. Without a `kind`, a request with a
 * field that only questions have is a question, and any other an approval. */
export interface Asked {
  kind?: "approval" | "question" | "form";
  message?: string;
  toolName?: string;
  /** The id of the tool call: a program that is restarted finds its request and the answer by it. */
  toolCallId?: string;
  input?: Json;
  responseSchema?: Json;
  /** May be plain texts. */
  options?: readonly (string | { label: string; description?: string })[];
  multiple?: boolean;
  allowText?: boolean;
  fieldName?: string;
  suggestions?: readonly string[];
  context?: unknown;
  messages?: readonly { role: string; text: string }[];
  priority?: "low" | "normal" | "high" | "critical";
  /** Milliseconds. */
  timeout?: number;
  deadline?: Date;
  defaultResponse?: unknown;
  workflowId?: string;
  workflowTitle?: string;
  stepPath?: readonly string[];
  threadId?: string;
  agent?: string;
  callbackUrl?: string;
  /** The engine that gets the decision, by its name, and the id that waits there. */
  callback?: { to: string; id: string };
  assignedTo?: string;
  /** Files that people see with the request. */
  attachments?: readonly NewFile[];
}

export interface DeskOptions {
  /** Seconds for which calls are retried while the server cannot be reached. The default is 300. */
  patience?: number;
  /** In place of the global `fetch`. */
  fetch?: typeof fetch;
  /**
   * A random text that stays the same in all of your processes, from which names of calls are derived. Needed for these with
   * tokens that change; by default `PAUSEPOINT_SECRET`, or else the key.
   */
  secret?: string;
}

export interface WaitOptions {
  /** Seconds after which `StillWaiting` is thrown. The request is still waiting then. */
  giveUpAfter?: number;
  /** Ends the waiting with the signal's reason. The request is still waiting then. */
  signal?: AbortSignal;
}

export interface AskOptions {
  /** A name of the request that stays the same, if it has no `toolCallId`. */
  idempotencyKey?: string;
  signal?: AbortSignal;
}

export type AwaitOptions = Asked & AskOptions & WaitOptions;

export interface Decision {
  comment?: string;
  /** With the verdict `edit`: the whole input that may run. */
  editedInput?: Json;
  /** With the verdict `respond`. Where the schema asks for a file, a `NewFile` with bytes. */
  answer?: unknown;
  /** Refused (`changed`) if the input of the request has another digest. */
  inputDigest?: string;
  /** Decide alone what several people have to, with a `comment`. It needs the permission to. */
  breakGlass?: boolean;
}

export type Filters = Readonly<
  Partial<
    Record<
      "status" | "kind" | "tool" | "priority" | "workflow" | "thread" | "text" | "created_from" | "created_until",
      string
    >
  >
>;

const QUESTION_FIELDS = ["options", "multiple", "allowText", "fieldName", "suggestions"] as const;

/** The calls of a desk: all of `Desk` but `approve`, which is made of them. */
export class DeskClient {
  readonly #http: Connection;

  /**
   * The address and a key, by default those of the environment: `PAUSEPOINT_URL` and `PAUSEPOINT_KEY`. For tokens that expire,
   * a function that returns one, or a promise of it: it is called before each attempt, so let it keep its token.
   */
  constructor(address = "", key: Key = "", options: DeskOptions = {}) {
    this.#http = new Connection(address, key, options.patience ?? 300, options.fetch, options.secret);
  }

  /** Ask a person and wait for the outcome, however long that takes. Throws as `ask`. */
  async awaitHuman(title: string, options: AwaitOptions = {}): Promise<Outcome> {
    const { giveUpAfter, ...asked } = options;
    const found = await this.ask(title, asked);
    if (found.status !== "pending") return new Outcome(found);
    return this.wait(found.id, {
      ...(giveUpAfter === undefined ? {} : { giveUpAfter }),
      ...(options.signal ? { signal: options.signal } : {}),
    });
  }

  /**
   * Claim the resume lease of a request (`step` is empty), `renew`, `complete` or `release` it, with the fields of the API. The
   * adapters do this for each approved call. Throws Refused (`resume_taken`, `already_resumed`, ...) or Unreachable.
   */
  async resume<T = Json>(
    requestId: string,
    step: "" | "renew" | "complete" | "release",
    body: Json,
    signal?: AbortSignal,
  ): Promise<T> {
    const headers: Record<string, string> = step ? {} : { "Idempotency-Key": await newKey() };
    const path = place("requests", requestId, step ? `/resume/${step}` : "/resume");
    return this.#http.send("POST", path, { body, headers, signal });
  }

  /**
   * Return a name for a call that is known by its content, the same whenever this key asks. People see the names of calls: from
   * one that was made without the key, hidden values could be found by trying all.
   */
  nameOf(content: string): Promise<string> {
    return this.#http.nameOf(content);
  }

  /**
   * Ask without waiting; return the request (`id`, `url`, `status`, ...). Throws TypeError, before anything is sent, for
   * fields that JSON does not carry whole, Refused or Unreachable.
   */
  async ask(title: string, options: Asked & AskOptions = {}): Promise<RequestDocument> {
    const { idempotencyKey = "", signal, ...asked } = options;
    // A request without a name gets one here, so that a lost response does not create a second request.
    const name = printable("idempotencyKey", idempotencyKey) || (asked.toolCallId ? "" : await newKey());
    const headers: Record<string, string> = name ? { "Idempotency-Key": name } : {};
    const found = await this.#http.send<RequestDocument>("POST", "/requests", {
      body: bodyOf(title, asked),
      headers,
      signal,
    });
    member(found, "id", "string");
    member(found, "status", "string");
    return found;
  }

  /** Wait for the outcome of a request. Throws StillWaiting, Refused or Unreachable. */
  async wait(requestId: string, { giveUpAfter = Infinity, signal }: WaitOptions = {}): Promise<Outcome> {
    const until = seconds() + giveUpAfter;
    for (;;) {
      const wait = Math.max(0, Math.ceil(Math.min(WAIT, until - seconds())));
      const path = `${place("requests", requestId)}?wait=${wait}`;
      const found = await this.#http.send<RequestDocument>("GET", path, { wait, signal });
      if (member(found, "status", "string") !== "pending") return new Outcome(found);
      if (seconds() >= until) throw new StillWaiting(requestId, member(found, "url", "string"));
    }
  }

  /** Cancel a request. Throws Refused (`already_decided`: someone decided it first) or Unreachable. */
  async cancel(requestId: string, comment = ""): Promise<Outcome> {
    try {
      return new Outcome(await this.#http.send("POST", place("requests", requestId, "/cancel"), { body: { comment } }));
    } catch (error) {
      // Already cancelled: by an earlier attempt whose response was lost, or by someone else.
      const made = error instanceof Refused && (error.problem.decision as { verdict?: string } | undefined);
      if (!(made && made.verdict === "cancel")) throw error;
      return new Outcome(await this.get(requestId));
    }
  }

  /**
   * Record the output or the error of the approved call. The call has run, so what JSON does not carry whole is recorded as far
   * as it does, or as text. Throws Refused or Unreachable.
   */
  async report(outcome: Outcome, result: { output?: unknown; error?: unknown }): Promise<void> {
    if (outcome.digest === null) {
      throw new TypeError(`Request ${outcome.requestId} was not approved, so it has no result to report.`);
    }
    const body = { input_digest: outcome.digest, ...reportable(result) };
    await this.#http.send("POST", place("requests", outcome.requestId, "/result"), { body });
  }

  /** Return a request. Throws Refused or Unreachable. */
  async get(requestId: string): Promise<RequestDocument> {
    return this.#http.send("GET", place("requests", requestId));
  }

  /**
   * Return the content of a file of a request or of its answer. It needs a key with the scope `read`. Throws Refused
   * (`file_removed`: it is not kept any more) or Unreachable.
   */
  async readFile(requestId: string, { url }: Pick<FileDocument, "url">, signal?: AbortSignal): Promise<Uint8Array> {
    // Only the id is taken from the address: the key is for this installation.
    const id = url.slice(url.lastIndexOf("/") + 1);
    return this.#http.bytes(place("requests", requestId, `/attachments/${encodeURIComponent(id)}`), signal);
  }

  /** Return the requests that the key's user may see, newest first. Throws Refused or Unreachable. */
  async list(filters: Filters = {}): Promise<RequestDocument[]> {
    const found: RequestDocument[] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const query = new URLSearchParams({ ...filters, ...(cursor ? { cursor } : {}) });
      const page: Json = await this.#http.send("GET", `/requests?${query}`);
      found.push(...member<RequestDocument[]>(page, "items", "array"));
      cursor = member<string | null>(page, "next", "string", "null") || null;
    }
    return found;
  }

  /**
   * Decide a request: `approve`, `reject`, `edit` (with `editedInput`) or `respond` (with `answer`). It needs a key with
   * the scope `decide`, of another user than the one that asked. If several people decide it, this is a vote, and the
   * status may still be `pending`. Throws Refused (`already_decided`: someone was first) or Unreachable.
   */
  async decide(requestId: string, verdict: Verdict, decision: Decision = {}): Promise<Outcome> {
    const body = { verdict, ...sent({ ...decision, answer: withFiles(decision.answer) }) };
    return new Outcome(await this.#http.send("POST", place("requests", requestId, "/decision"), { body }));
  }

  /**
   * Advise people on a request, and say why. It decides nothing; `raisePriority` is the priority that the request gets if
   * its own is lower, `moreVotes` (1 to 3) how many more people have to approve. It needs another key than the one that
   * asked, with the scope `advise`. Throws Refused (`already_decided`: someone decided before; `conflict`: the request
   * cannot need so many votes) or Unreachable.
   */
  async advise(
    requestId: string,
    hint: "looks_fine" | "look_closer" | "looks_wrong",
    text: string,
    { raisePriority, moreVotes }: { raisePriority?: "low" | "normal" | "high" | "critical"; moreVotes?: number } = {},
  ): Promise<Json> {
    const body = sent({ hint, text, raisePriority, moreVotes });
    return this.#http.send("POST", place("requests", requestId, "/advice"), { body });
  }

  /** End a workflow, and cancel its waiting requests. Throws Refused or Unreachable. */
  async endWorkflow(workflowId: string, outcome: "completed" | "failed" | "cancelled" = "completed"): Promise<Json> {
    return this.#http.send("POST", place("workflows", workflowId, "/end"), { body: { outcome } });
  }
}

function bodyOf(title: string, asked: Asked): Json {
  const kind = QUESTION_FIELDS.some((name) => asked[name] !== undefined) ? "question" : "approval";
  const options = asked.options?.map((option) => (typeof option === "string" ? { label: option } : option));
  const attachments = asked.attachments?.map(sentFile);
  return {
    kind,
    ...sent({ ...asked, options, attachments, timeout: asked.timeout === undefined ? undefined : Math.ceil(asked.timeout) }),
    title,
  };
}

function place(kind: string, knownBy: string, then = ""): string {
  return `/${kind}/${encodeURIComponent(knownBy)}${then}`;
}
