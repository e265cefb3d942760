// Fields that count in some cases only: shown while their case applies. Hidden ones are not sent. Without this script all are
// there, with words about their case, and the server goes by the same conditions.
(() => {
  "use strict";

  const CASE = "fieldset[data-case]";
  /** @typedef {[string, any, any?]} Test */
  // Three digits after a mark: groups of thousands, or decimals. The server reads numbers the same way (text/numbers.py).
  const GROUPED = /^-?[1-9]\d{0,2}([.,'\u2019 \u00a0\u2009\u202f])\d{3}((?:\1\d{3})*)([.,]\d+)?$/;

  /** @param {string} text @param {string} decimal the decimal separator of the page */
  function numberOf(text, decimal) {
    const typed = text.trim(), [, group, more, fraction = ""] = GROUPED.exec(typed) ?? [];
    if (!typed || (group && fraction.startsWith(group))) return NaN;
    const isDecimal = !group || (!more && !fraction && group === decimal);
    if (isDecimal) return Number(typed.replace(",", "."));
    if (!more && !fraction && ".,".includes(group)) return NaN;
    const whole = typed.slice(0, typed.length - fraction.length);
    return Number(whole.replaceAll(group, "") + fraction.replace(",", "."));
  }

  // A field that is left out of the form, as those of other cases are, has no value.
  /** @param {Test} test @param {(name: string) => string} textOf @param {string} decimal @returns {boolean} */
  function holds([kind, first, second], textOf, decimal) {
    const number = () => numberOf(textOf(first), decimal);
    switch (kind) {
      case "all": return first.every((/** @type {Test} */ test) => holds(test, textOf, decimal));
      case "any": return first.some((/** @type {Test} */ test) => holds(test, textOf, decimal));
      case "not": return !holds(first, textOf, decimal);
      case "filled": return textOf(first).trim() !== "";
      case "in": return second.some((/** @type {string} */ text) => text === textOf(first));
      case "is": return second.some((/** @type {string} */ text) => Number(text) === number());
      case "least": return number() >= second;
      case "most": return number() <= second;
      case "more": return number() > second;
      default: return number() < second;
    }
  }

  /** @param {HTMLFormElement} form */
  function show(form) {
    // Outer cases come before those within them.
    for (const fields of form.querySelectorAll(CASE)) {
      const sent = new FormData(form), { names = "", case: test = "", decimal = "." } = fields.dataset;
      // Of a file, its name: empty if none was chosen.
      const textOf = (/** @type {string} */ name) => sent.getAll(names + name).map((value) => typeof value === "string" ? value : value.name).join("\n");
      const shown = holds(JSON.parse(test), (name) => textOf(name).replaceAll("\r\n", "\n"), decimal);
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
  // The page is read to its end, and not shown yet.
  ready(document);
  document.addEventListener("htmx:load", (event) => ready(event.detail.elt.parentElement ?? document));
})();
