/** Requests as the API returns them, and how a request ended. */

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
  /** Null until the result of the approved call is reported. */
  readonly result?: Result | null;
  readonly [field: string]: unknown;
}

/** How a request ended. `document` is the whole response. */
export class Outcome {
  readonly requestId: string;
  readonly status: Exclude<Status, "pending">;
  /** Null if the deadline passed. */
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

  constructor(readonly document: RequestDocument) {
    const { decision, status } = document;
    if (!decision || status === "pending") throw new TypeError(`Request ${document.id} is not decided yet.`);
    this.requestId = document.id;
    this.status = status;
    this.by = decision.by;
    this.comment = decision.comment;
    this.answer = decision.answer;
    this.input = decision.approved_input;
    this.digest = decision.approved_digest;
    this.result = document.result ?? null;
  }

  get approved(): boolean {
    return this.status === "approved";
  }

  /** Whether it was approved with changes. */
  get edited(): boolean {
    return this.document.decision?.verdict === "edit";
  }

  get timedOut(): boolean {
    return this.status === "expired";
  }
}
