/**
 * LangChain and LangGraph:
 *
 *     createAgent({ ..., tools: gate([refund, look], { tools: ["refund"] }) })
 */

import { isToolMessage, ToolMessage } from "@langchain/core/messages";
import { toJsonSchema } from "@langchain/core/utils/json_schema";
import { GraphInterrupt, isCommand, isGraphInterrupt } from "@langchain/langgraph";
import { Gate } from "./gating.js";
import type { GateOptions } from "./gating.js";
import { Halted, NotApproved } from "./outcome.js";
import { standardSchema } from "./schemas.js";
import type { ToolSchema } from "./schemas.js";
import { textOf } from "./text.js";

export type { GateOptions } from "./gating.js";

interface Config {
  toolCall?: { id?: string };
  configurable?: { thread_id?: unknown };
  signal?: AbortSignal;
}

interface Events {
  handleToolEvent?(part: unknown): Promise<void>;
}

/** What is used of a tool. `_call` gets the input as the schema has parsed it. */
interface Tool {
  name: string;
  schema: unknown;
  responseFormat?: string;
  _call(input: unknown, events?: Events, config?: Config): unknown;
  invoke(input: unknown, config?: unknown): Promise<unknown>;
}

/**
 * Return the same tools, which ask people before they run, wait, run with the input that was approved, and report what they
 * did. If a call is not approved, the model reads why in its `ToolMessage`; if the policy stops the run, the graph is
 * interrupted. Throws TypeError if a tool could run unasked.
 */
export function gate<TOOL extends object>(tools: readonly TOOL[], options: GateOptions = {}): TOOL[] {
  const calls = new Gate(options);
  const named = calls.names(tools.map((tool) => String((tool as Partial<Tool>).name)));
  return tools.map((tool) => {
    const { name } = tool as Partial<Tool>;
    return named.includes(String(name)) ? (gatedTool(tool as unknown as Tool, calls) as unknown as TOOL) : tool;
  });
}

function gatedTool(tool: Tool, calls: Gate): Tool {
  const { name } = tool;
  if (typeof tool._call !== "function") {
    throw new TypeError(
      `The tool ${JSON.stringify(name)} is not made by \`tool(...)\`: it runs at the provider or elsewhere, where no one would be ` +
        "asked. Give the names of the tools to ask about, without this one.",
    );
  }
  const copy = Object.assign(Object.create(Object.getPrototypeOf(tool)) as Tool, tool);
  const hasArtifact = tool.responseFormat === "content_and_artifact";
  copy._call = async (input, events, config) => {
    const { toolCall, configurable, signal } = config ?? {};
    const id = toolCall?.id ?? "";
    const thread = configurable?.thread_id === undefined ? "" : String(configurable.thread_id);
    let made: unknown;
    const call = { name, id, run: "", group: thread, thread, input, schema: schemaOf(tool), signal };
    const ran = await calls.run(call, async (approved) => {
      made = await lastOf(await tool._call(approved, events, config), events);
      return hasArtifact && Array.isArray(made) ? made[0] : contentOf(made, id);
    });
    if (made === undefined) return hasArtifact ? [noted(ran.output, ran.words), undefined] : noted(ran.output, ran.words);
    if (hasArtifact && Array.isArray(made)) return [noted(made[0], ran.words), ...made.slice(1)];
    const messages = messagesOf(made, id);
    for (const message of messages) message.content = noted(message.content, ran.words) as typeof message.content;
    return messages.length > 0 || isCommand(made) ? made : noted(made, ran.words);
  };
  copy.invoke = async (input, config) => {
    try {
      return await tool.invoke.call(copy, input, config);
    } catch (error) {
      throwInterrupts(error);
      const { id, type } = input as { id?: string; type?: string };
      if (!(error instanceof NotApproved) || type !== "tool_call") throw error;
      return new ToolMessage({ name, content: error.message, tool_call_id: id ?? "", status: "error" });
    }
  };
  return copy;
}

/** Throw what stops a graph: LangChain gives the model every other error of a tool, and goes on. */
function throwInterrupts(error: unknown): void {
  const { cause } = error as Error;
  if (isGraphInterrupt(cause as Error)) throw cause;
  if (error instanceof Halted) {
    throw Object.assign(new GraphInterrupt([{ value: { halted: error.message } }]), { message: error.message, cause: error });
  }
}

function schemaOf(tool: Tool): ToolSchema | undefined {
  const schema = standardSchema(tool.schema);
  return (
    schema && {
      get jsonSchema(): unknown {
        return toJsonSchema(tool.schema as Parameters<typeof toJsonSchema>[0]);
      },
      validate: schema.validate,
    }
  );
}

/** Return what a tool returns; one that is a generator runs to its end first. */
async function lastOf(made: unknown, events: Events | undefined): Promise<unknown> {
  if (Object.prototype.toString.call(made) !== "[object AsyncGenerator]") return made;
  for (const parts = made as AsyncGenerator; ; ) {
    const { done, value } = (await parts.next()) as IteratorResult<unknown, unknown>;
    if (done) return value;
    await events?.handleToolEvent?.(value);
  }
}

/** Return the messages for the model in what a tool returned, if it has made them itself. */
function messagesOf(made: unknown, id: string): ToolMessage[] {
  const { messages } = Object((isCommand(made) && made.update) || { messages: [made] }) as { messages?: unknown };
  const all = (Array.isArray(messages) ? messages : [messages]) as ToolMessage[];
  return all.filter((each) => typeof each === "object" && each !== null && isToolMessage(each) && each.tool_call_id === id);
}

function contentOf(made: unknown, id: string): unknown {
  const messages = messagesOf(made, id);
  return messages.length > 0 ? messages[0]?.content : made;
}

function noted(content: unknown, words: string): unknown {
  if (!words) return content;
  const isBlocks = Array.isArray(content) && content.every((block) => typeof Object(block).type === "string");
  return isBlocks ? [{ type: "text", text: words }, ...content] : `${words}\n\n${textOf(content)}`;
}
