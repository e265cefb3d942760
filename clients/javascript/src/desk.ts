/** The desk: its client, and functions that ask a person before they run. */

import { DeskClient } from "./client.js";
import type { Asked } from "./client.js";
import type { Json } from "./fields.js";
import { whole } from "./json.js";
import { Runs } from "./runs.js";

/** Fields of each request about a function. */
export interface ApproveOptions<In> extends Omit<Asked, "kind" | "input" | "toolName" | "toolCallId"> {
  /** The name of a call, or a function of its input that returns one. */
  key?: string | ((input: In) => string);
}

/** A client of one installation. Safe to share. */
export class Desk extends DeskClient {
  /**
   * Return a function that asks a person before it runs. It is called with one object, and runs with a copy of that or with
   * the one that the person made of it. It reports what it did, and returns it. Throws NotApproved, what `run` throws, and
   * TypeError for an object that JSON does not carry whole: people would see another one than the one that runs.
   *
   * `key` names a call: of those with the same key, also in other processes, one runs, and the others wait for its
   * result, or HasFailed is thrown. If it ends without a result, a person is asked whether it may run again. Without a key, a
   * call is known by `threadId`, its input, and how often it was made; without either, each call asks.
   */
  approve<In extends object, Out>(
    toolName: string,
    run: (input: In) => Out,
    { key = "", threadId = "", agent = "", ...asked }: ApproveOptions<In> = {},
  ): (input: In, options?: { signal?: AbortSignal }) => Promise<Awaited<Out>> {
    const runs = new Runs(this, asked);
    return async (given, { signal } = {}): Promise<Awaited<Out>> => {
      const input = whole(given, "input");
      const named = typeof key === "string" ? key : key(input);
      const id = named || (threadId ? await runs.placeOf(toolName, input) : "");
      const call = { name: toolName, id, input: input as Json, thread: threadId, agent };
      return (await runs.run(call, (approved) => run(approved as In), signal)) as Awaited<Out>;
    };
  }
}
