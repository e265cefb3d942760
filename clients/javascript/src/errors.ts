/** The errors of the client. */

/** Base class of all errors of the client. */
export class DeskError extends Error {
  override name = "DeskError";
}

/** The server could not be reached for `patience` seconds. The call may have arrived: send the same again. */
export class Unreachable extends DeskError {
  override name = "Unreachable";
}

/** The server refused the call. `code` is stable, `problem` the problem document (RFC 9457), `detail` its sentence. */
export class Refused extends DeskError {
  override name = "Refused";
  readonly code: string;
  readonly detail: string;

  constructor(
    readonly status: number,
    readonly problem: Readonly<Record<string, unknown>>,
  ) {
    const code = textOf(problem.code);
    const detail = textOf(problem.detail);
    const fields = Object.entries(Object(problem.errors ?? {}) as Record<string, unknown>);
    super(`${status} ${code}: ${detail}${fields.map(([name, error]) => ` ${name}: ${textOf(error)}.`).join("")}`);
    this.code = code;
    this.detail = detail;
  }
}

/** The response says something that this version of the client does not know, so nothing may run because of it. */
export class NotUnderstood extends Refused {
  override name = "NotUnderstood";

  constructor(detail: string, status = 200) {
    super(status, { code: "not_understood", detail });
  }
}

/** Return a member of a problem document as text. */
function textOf(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

/** No one decided within `giveUpAfter` seconds. The request is still waiting, and you may wait for it again. */
export class StillWaiting extends DeskError {
  override name = "StillWaiting";

  constructor(
    readonly requestId: string,
    readonly url: string,
  ) {
    super(`No one has decided yet: ${url}`);
  }
}

/** The call has run before, and failed. The message is for the model. */
export class HasFailed extends DeskError {
  override name = "HasFailed";
}
