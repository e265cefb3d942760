/** The schemas of tools: what people may make of an input. */

import type { Input } from "./asking.js";
import { jsonOf } from "./json.js";
import { keeps, same } from "./text.js";

type Parsed = { success: true; value: unknown } | { success: false; error: Error };

/** The schema of a tool's input. Without `validate`, it takes everything. */
export interface ToolSchema {
  /** The JSON Schema, or a promise of it. Reading it may throw, where there is none. */
  readonly jsonSchema: unknown;
  validate?: ((value: unknown) => Parsed | PromiseLike<Parsed>) | undefined;
}

interface Standard {
  validate(value: unknown): StandardResult | Promise<StandardResult>;
  jsonSchema?: { input(options: { target: string }): unknown };
}
type StandardResult = { value: unknown; issues?: undefined } | { issues: readonly { message: string }[] };

/** Return the schema of a tool that has one by the Standard Schema, such as one of Zod, or a JSON Schema. */
export function standardSchema(schema: unknown): ToolSchema | undefined {
  if (typeof schema !== "object" || schema === null) return undefined;
  const standard = (schema as { "~standard"?: Standard })["~standard"];
  if (!standard) return { jsonSchema: schema };
  return {
    get jsonSchema(): unknown {
      return standard.jsonSchema?.input({ target: "draft-2020-12" });
    },
    validate: async (value) => {
      const result = await standard.validate(value);
      if (!result.issues) return { success: true, value: result.value };
      return { success: false, error: new Error(result.issues.map(({ message }) => message).join("; ")) };
    },
  };
}

/**
 * Return the JSON Schema of the input for the form in which people change it; undefined if there is none, or if it is
 * the schema of another value than people see.
 */
export async function formOf(schema: ToolSchema | undefined, input: unknown): Promise<Input | undefined> {
  if (!schema || !(await isEditable(schema, input))) return undefined;
  try {
    return jsonOf(await schema.jsonSchema) as Input;
  } catch {
    // Such as of a date, or without a schema: the input is then changed as JSON.
    return undefined;
  }
}

/**
 * Whether people may change an input. They see what the schema has made of the model's input, and what they make of that goes
 * through the schema again: it has to take its own result, and to leave it as it is.
 */
export async function isEditable(schema: ToolSchema | undefined, input: unknown): Promise<boolean> {
  if (!schema?.validate) return true;
  try {
    const again = await schema.validate(jsonOf(input));
    return again.success && same(jsonOf(again.value), jsonOf(input));
  } catch {
    return false;
  }
}

/** Return what runs of a changed input: what the schema makes of it. Throws Unfit if that is not what was approved. */
export async function fitted(schema: ToolSchema | undefined, changed: unknown, input: unknown): Promise<unknown> {
  if (!(await isEditable(schema, input))) {
    throw new Unfit("The schema of the tool makes another value of its input, so the input cannot be changed.");
  }
  const parsed = await schema?.validate?.(changed);
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
