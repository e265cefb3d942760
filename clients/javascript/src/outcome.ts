/** Requests as the API returns them, and how a request ended. */

import { inputDigest } from "./digests.js";
import { member } from "./documents.js";
import { DeskError, NotUnderstood } from "./errors.js";

/** The verdicts that approve. */
const APPROVING: readonly unknown[] = ["approve", "edit"];

export type Status = "pending" | "approved" | "rejected" | "answered" | "expired" | "cancelled";
export type Verdict = "approve" | "edit" | "reject" | "respond";

/** A file of a request (in its `attachments`) or of its answer, with the field names of the API. */
export interface FileDocument {
  /** Only files of answers have it here. */
  readonly id?: string;
  readonly name: string;
  readonly media_type: string;
  readonly size: number;
  readonly sha256: string;
  readonly url: string;
}

/** How a request was decided, with the field names of the API. */
export interface DecisionDocument {
  readonly verdict: string;
  readonly by: string | null;
  readonly via: string;
  readonly decided_at: string;
  readonly comment: string;
  readonly answer: unknown;
  readonly edited_input: Readonly<Record<string, unknown>> | null;
  readonly approved_input: Readonly<Record<string, unknown>> | null;
  readonly approved_digest: string | null;
  /** The salt in the text of `approved_digest`, for the key that asked; null if nothing is hidden from people. */
  readonly digest_salt?: string | null;
  /** Whether one person decided what several people had to. */
  readonly break_glass: boolean;
  /** The rule of the policy that decided it without asking; null if a person did, or no one. */
  readonly rule?: { readonly name: string; readonly policy_version: number } | null;
  /** Whether the run has to stop: no one decided in time, and the policy says that it stops then. */
  readonly halted?: boolean;
}

/** The votes on a request that several people decide, with the field names of the API. */
export interface VotesDocument {
  /** How far it is, such as `1 of 2, finance missing`. */
  readonly progress: string;
  readonly veto: boolean;
  readonly stages: readonly {
    readonly groups: readonly { readonly who: string; readonly votes: number; readonly needed: number }[];
    readonly any: boolean;
    readonly met: boolean;
    readonly current: boolean;
  }[];
  readonly cast: readonly {
    readonly by: string;
    readonly on_behalf_of: string | null;
    readonly verdict: "approve" | "reject";
    readonly comment: string;
    readonly input_digest: string;
    readonly stage: number;
    readonly counts: boolean;
    readonly via: string;
    readonly voted_at: string;
  }[];
  /** The changed input that people vote on; null while they vote on the asked one. */
  readonly proposal: {
    readonly input: Readonly<Record<string, unknown>>;
    readonly input_digest: string;
    readonly digest_salt?: string | null;
    readonly by: string;
  } | null;
}

/** What the approved call did, as it was reported. */
export interface Result {
  readonly state: string;
  readonly output: unknown;
  readonly error: string | null;
}

/** A request, with the field names of the API. */
export interface RequestDocument {
  readonly id: string;
  readonly url: string;
  readonly status: Status;
  readonly kind: string;
  readonly title: string;
  readonly tool_name: string;
  readonly tool_call_id: string | null;
  readonly workflow_id: string;
  readonly thread_id: string;
  /** Null while the request is waiting. Lists do not have it. */
  readonly decision?: DecisionDocument | null;
  /** Null if one person decides it. Lists do not have it. */
  readonly votes?: VotesDocument | null;
  /** Null until the result of the approved call is reported. */
  readonly result?: Result | null;
  readonly [field: string]: unknown;
}

/** How a request ended. `document` is the whole response. */
export class Outcome {
  readonly requestId: string;
  /** Still `pending` after a vote that others have to follow. */
  readonly status: Status;
  /** Null if the deadline passed, or while others have to vote. */
  readonly by: string | null;
  readonly comment: string;
  /** The answer to a question or form; the default if the deadline passed. */
  readonly answer: unknown;
  /** The input to run, as requested or as changed by a person. Null unless approved. */
  readonly input: Readonly<Record<string, unknown>> | null;
  /** The digest of `input`, which the result is reported with. */
  readonly digest: string | null;
  /** What the approved call did, if that is known: it has run, and must not run again. */
  readonly result: Result | null;

  /** Throws NotUnderstood for a response that says in no known way how the request ended. */
  constructor(readonly document: RequestDocument) {
    const decision = member<DecisionDocument | null>(document, "decision", "object", "null");
    const votes = member<VotesDocument | null>(document, "votes", "object", "null");
    this.requestId = member(document, "id", "string");
    this.status = member(document, "status", "string");
    if (this.status === "pending" && !votes) throw new NotUnderstood(`Request ${this.requestId} is not decided yet.`);
    const made = decision ?? {};
    const approved = this.status === "approved";
    this.by = member(made, "by", "string", "null");
    this.comment = member<string | null>(made, "comment", "string", "null") ?? "";
    this.answer = decision?.answer ?? null;
    this.input = approved ? member(made, "approved_input", "object") : null;
    this.digest = approved ? member(made, "approved_digest", "string") : null;
    this.result = member(document, "result", "object", "null");
    if (this.result) member(this.result, "state", "string");
    if (approved && (!APPROVING.includes(decision?.verdict) || this.halted)) {
      throw new NotUnderstood("The response says that the request is approved, and something else beside it.");
    }
  }

  /** The votes, if several people decide it. */
  get votes(): VotesDocument | null {
    return this.document.votes ?? null;
  }

  /**
   * Whether `digest` is that of `input` with the files. Where anything is hidden from people, Pausepoint tells the key that asked
   * alone what it takes: for other keys it is false then.
   */
  async verified(): Promise<boolean> {
    if (this.input === null) return false;
    const files = (this.document.attachments ?? []) as readonly FileDocument[];
    return (await inputDigest(this.input, files, this.document.decision?.digest_salt ?? null)) === this.digest;
  }

  get approved(): boolean {
    return this.status === "approved" && !this.halted;
  }

  /** Whether it was approved with changes. */
  get edited(): boolean {
    return this.document.decision?.verdict === "edit";
  }

  get timedOut(): boolean {
    return this.status === "expired";
  }

  /** The name of the rule of the policy that decided it without asking; null if a person did, or no one. */
  get rule(): string | null {
    return this.document.decision?.rule?.name ?? null;
  }

  /** Whether the run has to stop: no one decided in time, and the policy says that it stops then. */
  get halted(): boolean {
    return Boolean(this.document.decision?.halted);
  }
}

/** A person did not let the call run, or no one decided in time. The message is for the model. */
export class NotApproved extends DeskError {
  override name = "NotApproved";

  constructor(
    message: string,
    readonly outcome: Outcome,
  ) {
    super(message);
  }
}

/** No one decided in time, and the policy stops the run then: do not go on with a no. */
export class Halted extends NotApproved {
  override name = "Halted";
}
