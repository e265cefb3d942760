// A decision that was sent at once and got no answer: its row says so, until it is sent again.
(() => {
  "use strict";

  /** @param {Element} element @returns {element is HTMLFormElement} */
  const decides = (element) => element.matches?.("form[data-decides]") ?? false;
  /** @param {Element} form */
  const idOf = (form) => form.getAttribute("action")?.split("/").at(-3) ?? "";

  /** The requests whose decision got no answer. @type {Set<string>} */
  const unanswered = new Set();

  // The card says it above its form. If the person has gone on, a line says it too.
  for (const name of /** @type {const} */ (["htmx:sendError", "htmx:timeout"])) {
    document.addEventListener(name, ({ detail: { elt } }) => {
      if (!decides(elt)) return;
      const id = idOf(elt), card = document.getElementById(`request-${id}`);
      unanswered.add(id);
      mark(id);
      if (!card?.checkVisibility()) showLine(id, card?.querySelector(".request-head a")?.textContent.trim() ?? "");
    });
  }
  document.addEventListener("htmx:beforeSend", ({ detail: { elt } }) => {
    if (!decides(elt)) return;
    unanswered.delete(idOf(elt));
    mark(idOf(elt));
    document.getElementById(lineOf(idOf(elt)))?.remove();
  });

  // A row that is pushed anew takes the place of the one that said so.
  for (const name of /** @type {const} */ (["htmx:wsAfterMessage", "htmx:afterSettle"])) {
    document.addEventListener(name, () => unanswered.forEach(mark));
  }

  /** @param {string} id */
  const lineOf = (id) => `unanswered-${id}`;
  /** @param {string} id @param {string} title */
  function showLine(id, title) {
    const { pane, toasts } = window.pausepoint;
    const words = gettext("The server did not answer your decision, so it may not be stored: %(title)s.");
    const line = toasts.show(lineOf(id), interpolate(words, { title }, true), { alert: true });
    // Not a link to its page: the inbox keeps the request, with what was typed.
    const open = () => {
      line.remove();
      pane.open(id, { focus: true });
    };
    if (pane) line.append(toasts.makeButton(gettext("Open it"), open));
    line.append(toasts.makeButton(gettext("Close"), () => line.remove()));
  }

  /** @param {string} id */
  function mark(id) {
    const values = document.querySelector(`#row-${CSS.escape(id)} .row-values`);
    values?.querySelector(".row-unanswered")?.remove();
    // Once it has ended, the row says how.
    if (!values || !unanswered.has(id) || values.querySelector(".row-outcome")) return;
    const note = document.createElement("span");
    note.className = "row-unanswered";
    note.textContent = gettext("No answer to your decision");
    values.prepend(note, " ");
  }
})();
