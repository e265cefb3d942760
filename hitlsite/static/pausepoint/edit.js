// Beside each field of an edit that has changed: what was proposed, with the difference marked.
(() => {
  "use strict";

  const EDITS = "details.edit form .field > :is(input, textarea, select)", AROUND = 24, LONGEST = 300;

  // What both begin and end with, in characters.
  /** @param {string} before @param {string} after */
  function shared(before, after) {
    const most = Math.min(before.length, after.length);
    let start = 0, end = 0;
    while (start < most && before[start] === after[start]) start += 1;
    while (end < most - start && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1;
    return { start, end };
  }

  /** @param {string} name @param {string} text */
  function part(name, text) {
    const element = document.createElement(name);
    element.textContent = text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
    return element;
  }

  /** @param {HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement} field */
  function textsOf(field) {
    if (field instanceof HTMLSelectElement) {
      const was = [...field.options].find((option) => option.defaultSelected) ?? field.options[0];
      return [was?.text.trim() ?? "", field.selectedOptions[0]?.text.trim() ?? ""];
    }
    return [field.dataset.was ?? field.defaultValue, field.value];
  }

  /** @param {HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement} field */
  function show(field) {
    const box = field.closest(".field"), [before, after] = textsOf(field);
    box?.querySelector(":scope > .was")?.remove();
    if (!box || before === after) return;
    const line = document.createElement("p"), { start, end } = shared(before, after);
    line.className = "was";
    const removed = before.slice(start, before.length - end), added = after.slice(start, after.length - end);
    // Of a long text only what is near the change.
    const from = Math.max(0, start - AROUND), to = Math.min(before.length, before.length - end + AROUND);
    line.append(`${gettext("Proposed:")} ${from ? "…" : ""}${before.slice(from, start)}`);
    if (removed || !before) line.append(part("del", removed || gettext("empty text")));
    if (added && before.length > AROUND) line.append(part("ins", added));
    line.append(`${before.slice(before.length - end, to)}${to < before.length ? "…" : ""}`);
    box.append(line);
  }

  document.addEventListener("input", (event) => { if (event.target.matches?.(EDITS)) show(event.target); });
  // Also what was typed before a refusal or on an earlier visit.
  document.addEventListener("toggle", (event) => {
    if (event.target.matches?.("details.edit[open]")) event.target.querySelectorAll(EDITS).forEach(show);
  }, true);
})();
