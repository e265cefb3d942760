/**
 * The right to run an approved call, which one process has at a time: the resume lease of its request.
 *
 * One approval lets a call run once. A process that comes second waits, and gets the result that the first one reports. If
 * the first one ends without a result, no one knows whether the call has run: a person is asked whether it may run again.
 */

import type { Asked, DeskClient } from "./client.js";
import { member } from "./documents.js";
import { Refused } from "./errors.js";
import { sleep } from "./http.js";
import { Outcome } from "./outcome.js";
import type { RequestDocument } from "./outcome.js";
import { shortened } from "./text.js";
import { UNKNOWN } from "./words.js";

/** Seconds for which a call is claimed, unless that is renewed. */
const LEASE = 60;
/** Seconds between two attempts to claim a lease that another process holds: at first, and at most. */
const FIRST_PAUSE = 0.25;
const LONGEST_PAUSE = 5;

interface TakenDocument {
  readonly token: string;
  readonly lost_by: string | null;
  readonly request: RequestDocument;
}

/** A lease, which is renewed while the program keeps this object. */
export class Lease {
  readonly #timer: ReturnType<typeof setInterval>;

  constructor(
    readonly desk: DeskClient,
    readonly requestId: string,
    readonly token: string,
  ) {
    const kept = new WeakRef(this);
    const timer: ReturnType<typeof setInterval> = setInterval(
      () => {
        const lease = kept.deref();
        if (lease) desk.resume(requestId, "renew", { token, lease_seconds: LEASE }).catch(() => lease.stop());
        else clearInterval(timer);
      },
      (LEASE * 1000) / 3,
    );
    // In Node, the program may end.
    if (typeof timer === "object") timer.unref();
    this.#timer = timer;
  }

  /** Renew it no longer: unless it is completed, no one knows whether the call has run. */
  stop(): void {
    clearInterval(this.#timer);
  }

  async complete(): Promise<void> {
    this.stop();
    await this.desk.resume(this.requestId, "complete", { token: this.token });
  }

  /** Give it back, because the call did not run. */
  async release(): Promise<void> {
    this.stop();
    await this.desk.resume(this.requestId, "release", { token: this.token, reason: "The call did not run." });
  }
}

/**
 * What became of an approval: the call runs if there is a `lease`, and else `outcome` says why not. `earlier` are approvals
 * of runs that ended without a result; `outcome` is then that of the last request.
 */
export interface Claim {
  outcome: Outcome;
  earlier: readonly Outcome[];
  lease?: Lease;
}

/** Claim the right to run an approved call; `asked` are more fields of a request about another run. Throws as `ask`. */
export async function claim(desk: DeskClient, decided: Outcome, asked: Asked, signal?: AbortSignal): Promise<Claim> {
  let outcome = decided;
  const earlier: Outcome[] = [];
  while (outcome.approved && !outcome.result) {
    const taken = await claimLease(desk, outcome.requestId, signal);
    outcome = new Outcome(taken?.request ?? (await desk.get(outcome.requestId)));
    const lease = taken && new Lease(desk, outcome.requestId, taken.token);
    if (lease && !outcome.result && !taken.lost_by) return { outcome, earlier, lease };
    await lease?.release();
    if (outcome.result) break;
    const again = await askAgain(desk, outcome, asked, signal);
    // The first process was perhaps only slow.
    const late = new Outcome(await desk.get(outcome.requestId));
    if (late.result) return { outcome: late, earlier };
    earlier.push(outcome);
    outcome = again;
  }
  return { outcome, earlier };
}

/** Claim the lease of a request as soon as no other process has it; undefined if one has completed it. */
async function claimLease(desk: DeskClient, requestId: string, signal?: AbortSignal): Promise<TakenDocument | undefined> {
  for (let pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
    try {
      const taken = await desk.resume<TakenDocument>(requestId, "", { lease_seconds: LEASE }, signal);
      member(taken, "token", "string");
      member(taken, "request", "object");
      return taken;
    } catch (error) {
      if (error instanceof Refused && error.code === "already_resumed") return undefined;
      if (!(error instanceof Refused) || error.code !== "resume_taken") throw error;
    }
    await sleep(pause, signal);
  }
}

/** Ask whether a call may run again; the request is the same for all processes that come to this point. */
function askAgain(desk: DeskClient, outcome: Outcome, asked: Asked, signal?: AbortSignal): Promise<Outcome> {
  const { tool_name: toolName, thread_id: threadId, url, agent, priority, response_schema: schema } = outcome.document;
  const kept = {
    ...(agent ? { agent } : {}),
    ...(priority ? { priority } : {}),
    ...(schema ? { responseSchema: schema } : {}),
  };
  const where = typeof url === "string" && url ? ` [It was approved here](${url}).` : "";
  return desk.awaitHuman(shortened(`Run ${typeof toolName === "string" && toolName ? toolName : "this call"} again?`, 200), {
    ...(kept as Asked),
    ...(threadId ? { threadId } : {}),
    ...asked,
    toolName,
    toolCallId: `again-${outcome.requestId}`,
    input: outcome.input ?? {},
    message: `${UNKNOWN}${where} Find out what it has done before you decide.`,
    ...(signal ? { signal } : {}),
  });
}
