/** What the calls of an OpenAI Agents run would do, read from each kind of item that the SDK can pause for. */

import type { RunToolApprovalItem } from "@openai/agents";
import { inputOf } from "./asking.js";
import type { Input, ToolCall } from "./asking.js";
import { DeskError } from "./errors.js";
import { jsonOf } from "./json.js";

/** No one can be shown what a call would do, so no one is asked and it does not run. The message is for the model. */
export class Unreadable extends DeskError {
  override name = "Unreadable";

  constructor(tool: string, reason: string) {
    super(
      `This call of ${JSON.stringify(tool)} was not run, and no one was asked about it: ${reason}. ` +
        "Make the call again in a form that people can read.",
    );
  }
}

/**
 * Return a call as people are shown it: its input is all that decides what runs. Throws Unreadable if the model has made it
 * so that no one can read it, and TypeError if its kind is unknown: an approval of something that people cannot see would
 * approve anything.
 */
export function callOf(item: RunToolApprovalItem, thread: string): ToolCall {
  const { name, input } = shownOf(item);
  if (!name) throw new Unreadable("", "it does not name a tool");
  const used = item.agent.tools.find((tool) => tool.type === "function" && tool.name === name);
  const schema = used?.type === "function" ? (used.parameters as Input) : undefined;
  return { name, id: idOf(item.rawItem), input: jsonOf(input, "input") as Input, thread, agent: item.agent.name, schema };
}

function shownOf(item: RunToolApprovalItem): { name: string; input: Input } {
  const { rawItem: raw, name = "" } = item;
  switch (raw.type) {
    case "function_call":
      return { name, input: argumentsOf(name, raw.arguments) };
    case "shell_call":
      return { name: name || "shell", input: fieldsOf("shell", raw.action) };
    case "apply_patch_call":
      return { name: name || "apply_patch", input: fieldsOf("apply_patch", raw.operation) };
    case "computer_call":
      return { name: name || "computer", input: { actions: raw.actions ?? [fieldsOf("computer", raw.action)] } };
    case "hosted_tool_call":
      if (raw.providerData?.type === "mcp_approval_request") {
        // Servers may have tools of the same name.
        return { name: `${String(raw.providerData.server_label)}.${name}`, input: argumentsOf(name, raw.providerData.arguments) };
      }
  }
  throw new TypeError(
    `The call of ${JSON.stringify(name)} is of the kind ${JSON.stringify((raw as { type?: unknown }).type)}, which Pausepoint ` +
      "cannot show to people, so no one was asked and the run ends. Take the tool from the agent, or let it run without an approval.",
  );
}

/** Return the arguments of a function; some models send none in place of an empty object. */
function argumentsOf(name: string, text: unknown): Input {
  if (typeof text !== "string") throw new Unreadable(name, "it has no input");
  try {
    return inputOf(JSON.parse(text || "{}"));
  } catch (error) {
    throw new Unreadable(name, `its input is not JSON (${error instanceof Error ? error.message : String(error)})`);
  }
}

function fieldsOf(name: string, value: unknown): Input {
  if (typeof value !== "object" || value === null || Object.keys(value).length === 0) {
    throw new Unreadable(name, "it does not say what it would do");
  }
  return value as Input;
}

/** Return the id of a call, or of the call that an output belongs to. */
export function idOf(call: object): string {
  const { callId, id } = call as { callId?: unknown; id?: unknown };
  return String(callId || id || "");
}
