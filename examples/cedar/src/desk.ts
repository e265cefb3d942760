/** What Cedar does not ask of a server: the waiting requests after a reload, and cancelling a run. */

import { useCedarStore } from "cedar-os";

const JSON_BODY = { "Content-Type": "application/json" };

/** Cedar keeps suspended runs in memory only. */
export async function handOverWhatWaits(thread: string): Promise<void> {
  const response = await fetch(`/chat/suspended?threadId=${encodeURIComponent(thread)}`).catch(() => null);
  if (!response?.ok) return tell(`Pausepoint cannot say what waits (${response ? `status ${response.status}` : "no answer"}).`);
  const { object } = await response.json();
  await useCedarStore.getState().handleLLMResponse(object);
}

export async function cancelRun(runId: string): Promise<void> {
  const response = await fetch("/chat/cancel", { method: "POST", headers: JSON_BODY, body: JSON.stringify({ runId }) });
  if (!response.ok) tell((await response.json().catch(() => ({}))).detail ?? `Nothing was cancelled (status ${response.status}).`);
}

function tell(text: string): void {
  useCedarStore.getState().addMessage({ type: "progress_update", role: "assistant", content: text, text, state: "error" } as never);
}
