// A scripted chat model: the calls of the script, message by message, and then "done".
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage } from "@langchain/core/messages";
import { messages } from "./script.mjs";

export class Scripted extends BaseChatModel {
  constructor(steps = messages()) {
    super({});
    this.steps = steps;
    this.prompts = [];
  }
  // What the model has read of its calls, in their order.
  get read() {
    return (this.prompts.at(-1) ?? []).filter((message) => message.type === "tool").map(({ content }) => content);
  }
  _llmType() {
    return "scripted";
  }
  bindTools() {
    return this;
  }
  async _generate(prompt) {
    this.prompts.push(prompt);
    const calls = this.steps.shift();
    const tool_calls = calls?.map(([id, name, args]) => ({ type: "tool_call", name, args, ...(id ? { id } : {}) }));
    const message = calls ? new AIMessage({ content: "", tool_calls }) : new AIMessage("done");
    return { generations: [{ text: "", message }] };
  }
}
