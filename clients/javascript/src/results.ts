/** What a call did, as Pausepoint takes it. */

import type { DeskClient } from "./client.js";
import { DeskError } from "./errors.js";
import { bounded, errorText } from "./reportable.js";
import type { Lease } from "./leases.js";
import type { Outcome } from "./outcome.js";

export type CallResult = { output: unknown } | { error: unknown };

/**
 * Report what an approved call did; return whether it was stored. If it was not, log it: the call has run, and the agent
 * needs its result.
 */
export async function reported(desk: DeskClient, outcome: Outcome, result: CallResult): Promise<boolean> {
  try {
    await desk.report(outcome, "error" in result ? { error: errorText(result.error) } : bounded(result.output));
    return true;
  } catch (error) {
    if (!(error instanceof DeskError)) throw error;
    console.error(`The result of request ${outcome.requestId} could not be reported.`, error);
    return false;
  }
}

/** Report what a call did that was claimed, and complete its lease. Without a report the lease expires: no one knows then. */
export async function ended(desk: DeskClient, outcome: Outcome, result: CallResult, lease?: Lease): Promise<void> {
  lease?.stop();
  if (!(await reported(desk, outcome, result)) || !lease) return;
  try {
    await lease.complete();
  } catch (error) {
    if (!(error instanceof DeskError)) throw error;
    console.error(`The lease of request ${outcome.requestId} could not be completed.`, error);
  }
}
