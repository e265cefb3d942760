// Fields that count in some cases only: shown while their case applies. Hidden ones are not sent. Without this script all are
// there, with words about their case, and the server goes by the same conditions.
(() => {
  "use strict";

  const CASE = "fieldset[data-case]";
  /** @typedef {[string, any, any?]} Test */
  /** @param {string} text */
  const numberOf = (text) => text.trim() ? Number(text.trim().replace(",", ".")) : NaN;

  // A field that is left out of the form, as those of other cases are, has no value.
  /** @param {Test} test @param {(name: string) => string} textOf @returns {boolean} */
  function holds([kind, first, second], textOf) {
    switch (kind) {
      case "all": return first.every((/** @type {Test} */ test) => holds(test, textOf));
      case "any": return first.some((/** @type {Test} */ test) => holds(test, textOf));
      case "not": return !holds(first, textOf);
      case "filled": return textOf(first).trim() !== "";
      case "in": return second.some((/** @type {string} */ text) => text === textOf(first));
      case "is": return second.some((/** @type {string} */ text) => Number(text) === numberOf(textOf(first)));
      case "least": return numberOf(textOf(first)) >= second;
      case "most": return numberOf(textOf(first)) <= second;
      case "more": return numberOf(textOf(first)) > second;
      default: return numberOf(textOf(first)) < second;
    }
  }

  /** @param {HTMLFormElement} form */
  function show(form) {
    // Outer cases come before those within them.
    for (const fields of form.querySelectorAll(CASE)) {
      const sent = new FormData(form), { names = "", case: test = "" } = fields.dataset;
      // Of a file, its name: empty if none was chosen.
      const textOf = (/** @type {string} */ name) => sent.getAll(names + name).map((value) => typeof value === "string" ? value : value.name).join("\n");
      const shown = holds(JSON.parse(test), (name) => textOf(name).replaceAll("\r\n", "\n"));
      fields.hidden = fields.disabled = !shown;
    }
  }

  document.addEventListener("input", ({ target }) => {
    const form = target.closest?.("form");
    if (form?.querySelector(CASE)) show(form);
  });

  /** @param {ParentNode} root */
  function ready(root) {
    for (const form of new Set([...root.querySelectorAll(CASE)].map((fields) => fields.form))) if (form) show(form);
  }
  document.addEventListener("DOMContentLoaded", () => ready(document));
  document.addEventListener("htmx:load", (event) => ready(event.detail.elt.parentElement ?? document));
})();
