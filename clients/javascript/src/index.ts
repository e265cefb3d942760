/** Ask people from an agent: the client of Pausepoint, and the check of webhooks. */

export { Desk } from "./desk.js";
export type { Asked, AwaitOptions, Decision, DeskOptions, Filters, NewFile, WaitOptions } from "./client.js";
export type { ApproveOptions } from "./desk.js";
export { inputDigest } from "./digests.js";
export type { ApprovedFile } from "./digests.js";
export { DeskError, HasFailed, NotUnderstood, Refused, StillWaiting, Unreachable } from "./errors.js";
export { Halted, NotApproved, Outcome } from "./outcome.js";
export type {
  DecisionDocument,
  FileDocument,
  RequestDocument,
  Result,
  Status,
  Verdict,
  VotesDocument,
} from "./outcome.js";
export { InvalidWebhook, verifyWebhook } from "./webhooks.js";
export type { VerifyOptions, WebhookEvent, WebhookHeaders } from "./webhooks.js";
export { answerText } from "./words.js";
