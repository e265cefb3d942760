// The "human in the loop" of cedar-os 0.1.20 to 0.1.23 does nothing without this. The store calls a setter as
// `execute(state, setValue, args)`; the two setters of human in the loop expect `execute(state, runId, resumeData)`, take setValue
// for the runId, find no such run, and return. Nothing is sent, and the state that they return is ignored.

/**
 * Makes Continue, Cancel, `resumeCallback`, `cancelCallback` and `executeCustomSetter` work. Call it once, before the first message.
 *
 * @param {typeof import("cedar-os").useCedarStore} store
 * @param {(runId: string) => unknown} [cancelled] is called for each cancelled run; Cedar itself notifies no server.
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
    // A second click, or a `setState` object from the agent, which must not decide.
    if (run?.state !== "suspended" || options?.isDiff) return;
    keep(runId, { ...run, state: setterKey === "resume" ? "resumed" : "cancelled" });
    const after = await state.stateSetters[setterKey].execute(state.value, runId, resumeData);
    keep(runId, after[runId]);
    if (setterKey === "cancel") await cancelled(runId);
  }
  store.setState({ executeStateSetter });
}
