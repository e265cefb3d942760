// What cedar-os 0.1.20 to 0.1.23 need before their "human in the loop" does anything. The store calls a setter as
// `execute(state, setValue, args)`; the two of human in the loop read `execute(state, runId, resumeData)`, take setValue
// for the runId, find no such run, and return. Nothing is sent, and the state that they return is dropped.

/**
 * Makes Continue, Cancel, `resumeCallback`, `cancelCallback` and `executeCustomSetter` work. Call it once, before the first message.
 *
 * @param {typeof import("cedar-os").useCedarStore} store
 * @param {(runId: string) => unknown} [cancelled] is told of each cancelled run; Cedar itself tells no server.
 */
export function repairHumanInTheLoop(store, cancelled = () => {}) {
  const key = "humanInTheLoop";
  const original = store.getState().executeStateSetter;
  const keep = (/** @type {string} */ runId, /** @type {unknown} */ run) =>
    store.getState().setCedarState(key, { .../** @type {object} */ (store.getState().getCedarState(key)), [runId]: run });

  /** @param {any} params */
  async function executeStateSetter(params) {
    const { setterKey, args, options } = params;
    const state = /** @type {any} */ (store.getState().registeredStates[key]);
    if (params.key !== key || !state?.stateSetters?.[setterKey]) return original(params);
    const [runId, resumeData] = args ?? [];
    const run = state.value[runId];
    // Clicked twice; or asked for by the assistant (a `setState` object), who is no person.
    if (run?.state !== "suspended" || options?.isDiff) return;
    keep(runId, { ...run, state: setterKey === "resume" ? "resumed" : "cancelled" });
    const after = await state.stateSetters[setterKey].execute(state.value, runId, resumeData);
    keep(runId, after[runId]);
    if (setterKey === "cancel") await cancelled(runId);
  }
  store.setState({ executeStateSetter });
}
