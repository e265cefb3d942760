/** The schemas of tools of the AI SDK 5, 6 and 7: what people may make of an input. */

import * as ai from "ai";
import type { Input } from "./asking.js";
import { jsonOf } from "./json.js";
import { keeps, same } from "./text.js";

/** What is used of a tool here; the types of the three versions of the SDK differ. */
interface WithSchema {
  inputSchema?: unknown;
}

/**
 * Return the JSON Schema of the input for the form in which people change it; undefined if the SDK can make none, or if it is
 * the schema of another value than people see.
 */
export async function formOf(tool: WithSchema | undefined, input: unknown): Promise<Input | undefined> {
  if (!tool || !(await isEditable(tool, input))) return undefined;
  try {
    return jsonOf(await schemaIn(tool)?.jsonSchema) as Input;
  } catch {
    // Such as of a date, or without a schema: the input is then changed as JSON.
    return undefined;
  }
}

/**
 * Whether people may change an input. They see what the schema has made of the model's input, and what they make of that goes
 * through the schema again: it has to take its own result, and to leave it as it is.
 */
export async function isEditable(tool: WithSchema, input: unknown): Promise<boolean> {
  const schema = schemaIn(tool);
  if (!schema?.validate) return true;
  try {
    const again = await schema.validate(jsonOf(input));
    return again.success && same(jsonOf(again.value), jsonOf(input));
  } catch {
    return false;
  }
}

/** Return what runs of a changed input: what the SDK makes of it. Throws Unfit if that is not what was approved. */
export async function fitted(tool: WithSchema, changed: unknown, input: unknown): Promise<unknown> {
  if (!(await isEditable(tool, input))) {
    throw new Unfit("The schema of the tool makes another value of its input, so the input cannot be changed.");
  }
  const parsed = await schemaIn(tool)?.validate?.(changed);
  if (!parsed) return changed;
  if (!parsed.success) throw new Unfit(parsed.error.message);
  // Defaults may be added to it.
  if (!keeps(jsonOf(parsed.value, "input"), changed)) {
    throw new Unfit("The schema of the tool makes another input of it than the one that was approved.");
  }
  return parsed.value;
}

/** A person changed the input to one that the tool does not take. */
export class Unfit extends Error {
  override name = "Unfit";
}

function schemaIn(tool: WithSchema): ReturnType<typeof ai.asSchema> | undefined {
  return tool.inputSchema ? ai.asSchema(tool.inputSchema as Parameters<typeof ai.asSchema>[0]) : undefined;
}
