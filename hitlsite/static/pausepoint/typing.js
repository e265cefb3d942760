// Typing: the rest of a sentence whose field is gone is not taken for shortcuts, and no answer of the server takes the focus
// from a field in use.
(() => {
  "use strict";

  const FIELDS = "input:not([type=checkbox], [type=hidden]), textarea, select, [contenteditable]";
  const PAUSE = 1000;
  /** @param {Element | null} element */
  const isField = (element) => element?.matches?.(FIELDS) ?? false;
  // In an open menu letters and Escape belong to the menu, also in the moment before the focus is in it.
  /** @param {Element | null} element */
  const isInMenu = (element) =>
    Boolean(element?.closest?.("[popover], details.chip[open]") ?? document.querySelector(":popover-open"));
  // Safari ends a composition before it tells of the key that ended it; 229 is the code of keys of an input method.
  /** @param {KeyboardEvent} event */
  const isComposing = (event) => event.isComposing || event.keyCode === 229;

  // The key of a shortcut. Layouts without Latin letters have it at the place where a keyboard from the US has it.
  /** @param {KeyboardEvent} event */
  function keyOf({ key, code, shiftKey }) {
    if (key.length !== 1 || key < "\u0080" || /\p{Script=Latin}/u.test(key)) return key;
    const letter = /^Key([A-Z])$/.exec(code)?.[1];
    if (letter) return shiftKey ? letter : letter.toLowerCase();
    return code === "Slash" ? (shiftKey ? "?" : "/") : key;
  }

  // The field that the person is in, until they leave or send it; whether they sent it with a key; and while shortcuts are
  // off, when the last key was pressed.
  /** @type {Element | null} */
  let field = null;
  let sent = false;
  /** @type {number | null} */
  let quietSince = null;

  function enter() {
    if (!isField(document.activeElement)) return;
    field = document.activeElement;
    quietSince = null;
  }
  function leave() {
    field = null;
    sent = false;
    quietSince = null;
  }
  function hush() {
    field = null;
    quietSince = performance.now();
  }

  // The response to what they sent passes through its fields on the way to its message.
  document.addEventListener("focusin", () => { if (!sent) enter(); });
  // When the window loses the focus, the field keeps it within the page.
  document.addEventListener("focusout", ({ target }) => { if (target === field && target !== document.activeElement) hush(); });
  document.addEventListener("pointerdown", leave, true);
  document.addEventListener("click", ({ isTrusted }) => {
    if (!isTrusted) return;
    leave();
    enter();
  }, true);
  // Not every Escape leaves the field.
  document.addEventListener("keyup", ({ key }) => { if (key === "Escape") enter(); }, true);
  document.addEventListener("submit", ({ target }) => {
    if (!target.contains(field)) return;
    field = null;
    sent = true;
  }, true);
  // Some go on with their sentence after the Enter that sent it, while the next request opens.
  document.addEventListener("pausepoint:decided", () => { if (sent) hush(); });

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" || event.key === "Tab") return leave();
    if (isField(event.target)) {
      enter();
      sent = false;
      return;
    }
    // Removing an element does not always tell that it loses the focus.
    if (field) hush();
    if (quietSince === null || event.ctrlKey || event.altKey || event.metaKey) return;
    const now = performance.now(), isQuiet = now - quietSince < PAUSE;
    quietSince = isQuiet ? now : null;
    if (!isQuiet || (event.key.length > 1 && event.key !== "Enter")) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }, true);

  // --- The response to a form may focus a part of itself, but not while the person has gone on to type elsewhere.
  /** @type {Element | null} */
  let typedIn = null;
  /** @param {Element} target */
  function keepFocus(target) {
    const active = document.activeElement;
    typedIn = isField(active) && !target.contains(active) ? active : null;
  }
  document.addEventListener("htmx:beforeSwap", ({ detail }) => keepFocus(detail.target));
  document.addEventListener("htmx:afterSettle", () => {
    if (typedIn?.isConnected && typedIn !== document.activeElement) typedIn.focus({ preventScroll: true });
    typedIn = null;
  });

  window.pausepoint.typing = { isField, isInMenu, isComposing, keyOf, hush, keepFocus };
})();
