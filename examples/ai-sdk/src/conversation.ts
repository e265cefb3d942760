/**
 * One chat: the `Chat` of the AI SDK, and what it needs if people may also answer elsewhere.
 *
 * 1. An answer is sent at once and only once, even if another call is still waiting.
 * 2. While a request is waiting, or a turn is running that this page does not stream, the stored chat is polled.
 */

import { Chat } from "@ai-sdk/react";
import { DefaultChatTransport, isToolUIPart, type UIMessage } from "ai";
import { BASE, Desk, Problem, type History, type Pending } from "./desk";
import { lateWords, settledWords } from "./words";

/** Milliseconds between two polls: while a request is waiting, and while the agent continues with an answer of others. */
const WAITING = 2000;
const WORKING = 700;

export type Notice = { tone: "news" | "problem"; text: string };

/** What the page shows in addition to the messages. `offline` says why the last poll failed, "" if it did not. */
export type View = {
  status: History["status"];
  pending: Pending[];
  draft: string;
  notice: Notice | null;
  offline: string;
};

export class Conversation {
  readonly chat: Chat<UIMessage>;
  view: View = { status: "idle", pending: [], draft: "", notice: null, offline: "" };

  readonly #desk: Desk;
  readonly #listeners = new Set<() => void>();
  /** Calls that were answered here and whose answers have not been sent yet. */
  readonly #unsent = new Set<string>();
  /** Calls that were answered here, which are not announced. */
  readonly #mine = new Set<string>();
  /** The last message that was written here, until the stored chat contains it. */
  #written: { id: string; text: string } | null = null;
  /** ETag of the stored chat that the page shows; "" if it shows anything else. */
  #etag = "";
  /** Counts actions on this page: a poll that began before one is ignored. */
  #round = 0;
  #looking = false;

  constructor(desk: Desk, history?: { history: History; etag: string }) {
    this.#desk = desk;
    this.chat = new Chat({
      id: desk.chatId,
      transport: new DefaultChatTransport({
        api: `${BASE}/api/chat`,
        headers: desk.headers,
        prepareSendMessagesRequest: ({ id, messages, trigger, messageId }) => {
          this.#noteSent(messages);
          return { body: { id, message: messages.at(-1), trigger, messageId } };
        },
      }),
      sendAutomaticallyWhen: ({ messages }) => answered(messages).some((id) => this.#unsent.has(id)),
      onError: (error) => this.#refused(error),
      onFinish: () => void this.look(),
    });
    if (history) this.#show(history.history, history.etag);
  }

  /** Whether a response is streaming to this page. */
  get streams(): boolean {
    return this.chat.status === "submitted" || this.chat.status === "streaming";
  }

  get works(): boolean {
    return this.view.status === "queued" || this.view.status === "running";
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  snapshot = (): View => this.view;

  write(draft: string): void {
    this.#update({ draft });
  }

  dismiss(): void {
    this.#update({ notice: null });
  }

  send(text: string): void {
    this.#round++;
    this.#written = { id: this.chat.generateId(), text };
    this.#update({ draft: "", notice: null });
    void this.chat.sendMessage({ id: this.#written.id, role: "user", parts: [{ type: "text", text }] });
  }

  answer(toolName: string, toolCallId: string, output: unknown): void {
    this.#noteAnswer(toolCallId);
    void this.chat.addToolOutput({ tool: toolName, toolCallId, output });
  }

  decide(approvalId: string, toolCallId: string, approved: boolean, reason: string): void {
    this.#noteAnswer(toolCallId);
    void this.chat.addToolApprovalResponse({ id: approvalId, approved, reason: reason || undefined });
  }

  async stop(): Promise<void> {
    this.#round++;
    try {
      await this.#desk.stop();
    } catch (error) {
      this.#update({ notice: { tone: "problem", text: Problem.of(error).detail } });
    }
    await this.look();
  }

  /** Poll until the returned function is called. */
  watch = (): (() => void) => {
    let timer: ReturnType<typeof setTimeout>;
    let over = false;
    const next = () => {
      if (!over) timer = setTimeout(() => void this.#lookIfDue().then(next), this.works ? WORKING : WAITING);
    };
    next();
    return () => {
      over = true;
      clearTimeout(timer);
    };
  };

  async #lookIfDue(): Promise<void> {
    const due = this.view.offline || this.works || this.view.status === "suspended";
    if (due && !document.hidden) await this.look();
  }

  /** Read the stored chat, and show it unless there was an action on this page in the meantime. */
  async look(): Promise<void> {
    if (this.#looking || this.streams) return;
    this.#looking = true;
    const round = this.#round;
    try {
      const read = await this.#desk.read(this.#etag);
      if (this.view.offline) this.#update({ offline: "" });
      if (read && round === this.#round && !this.streams && !this.#unsent.size) this.#show(read.history, read.etag);
    } catch (error) {
      this.#update({ offline: Problem.of(error).detail });
    } finally {
      this.#looking = false;
    }
    if (round !== this.#round) await this.look();
  }

  #show(history: History, etag: string): void {
    const open = new Set(history.pending.map((asked) => asked.toolCallId));
    const settled = this.view.pending.filter((asked) => !open.has(asked.toolCallId) && !this.#mine.has(asked.toolCallId));
    const news = settledWords(settled, history.messages);
    const lost = this.#written && !history.messages.some((message) => message.id === this.#written?.id);
    this.chat.messages = history.messages;
    this.chat.clearError();
    this.#update({
      status: history.status,
      pending: history.pending,
      draft: this.view.draft || (lost && this.#written ? this.#written.text : ""),
      notice: news ? { tone: "news", text: news } : this.view.notice,
    });
    this.#written = null;
    this.#etag = etag;
  }

  #noteAnswer(toolCallId: string): void {
    this.#round++;
    this.#unsent.add(toolCallId);
    this.#mine.add(toolCallId);
    this.#update({ notice: null });
  }

  #noteSent(messages: UIMessage[]): void {
    this.#round++;
    this.#etag = "";
    for (const id of answered(messages)) this.#unsent.delete(id);
  }

  #refused(error: Error): void {
    const problem = Problem.of(error);
    if (problem.status === 401) this.#desk.forget();
    // The stored chat counts: the next poll shows it, with unanswered questions open again.
    this.#unsent.clear();
    this.#etag = "";
    const late = problem.decision && lateWords(problem.decision, this.view.pending, this.chat.messages);
    this.#update({ notice: { tone: "problem", text: late ?? problem.detail } });
    setTimeout(() => void this.look());
  }

  #update(change: Partial<View>): void {
    this.view = { ...this.view, ...change };
    for (const listener of this.#listeners) listener();
  }
}

/** The calls of the last message that have an answer. */
function answered(messages: UIMessage[]): string[] {
  const last = messages.at(-1);
  if (last?.role !== "assistant") return [];
  const states = ["output-available", "output-error", "approval-responded"];
  return last.parts.filter(isToolUIPart).flatMap((part) => (states.includes(part.state) ? [part.toolCallId] : []));
}
