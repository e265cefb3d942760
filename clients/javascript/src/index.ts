/** Ask people from an agent: the client of Pausepoint, its adapter for the AI SDK, and the check of webhooks. */

export { pausepoint } from "./ai-sdk.js";
export type { ApprovalStatus, PausepointOptions, ToolApproval } from "./ai-sdk.js";
export { Desk } from "./desk.js";
export type { Asked, AwaitOptions, Decision, DeskOptions, Filters, WaitOptions } from "./desk.js";
export { DeskError, Refused, StillWaiting, Unreachable } from "./errors.js";
export { Outcome } from "./outcome.js";
export type { DecisionDocument, RequestDocument, Status, Verdict } from "./outcome.js";
export { InvalidWebhook, verifyWebhook } from "./webhooks.js";
export type { VerifyOptions, WebhookEvent, WebhookHeaders } from "./webhooks.js";
