/** Ask people from an agent: the client of Pausepoint, and the check of webhooks. */

export { Desk } from "./desk.js";
export type {
  ApproveOptions,
  Asked,
  AwaitOptions,
  Decision,
  DeskOptions,
  Filters,
  NewFile,
  WaitOptions,
} from "./desk.js";
export { inputDigest } from "./digests.js";
export type { ApprovedFile } from "./digests.js";
export { DeskError, Halted, HasFailed, NotApproved, NotUnderstood, Refused, StillWaiting, Unreachable } from "./errors.js";
export { Outcome } from "./outcome.js";
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
