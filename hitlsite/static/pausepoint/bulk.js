// The page before a bulk decision: its button says how many of the chosen requests were seen, and `a` goes through the rest of them.
(() => {
  "use strict";

  const form = document.querySelector("form[data-bulk]");
  if (!form) return;

  const approves = form.dataset.bulk === "approve", button = form.querySelector(".bulk-decide > button");
  const parts = [...form.querySelectorAll(".bulk-part")], lines = parts.filter((part) => part.matches(".bulk-line"));
  const { seen, typing } = window.pausepoint;

  /** @param {string} words */
  const announce = (words) => { document.getElementById("announcements").textContent = words; };
  /** @param {HTMLElement} line */
  const isIncluded = (line) => line.querySelector("input[name=pick]")?.matches(":checked") ?? false;
  // What all have was seen with each of them.
  /** @param {HTMLElement} line */
  function isSeen(line) {
    const same = line.closest(".bulk-tool")?.querySelector(".bulk-same");
    return seen.isSeen(line) && (!same || seen.isSeen(same));
  }

  // --- The button says what it decides, and how much of that was seen.
  function count() {
    const included = lines.filter(isIncluded), values = { count: included.length, seen: included.filter(isSeen).length };
    for (const line of lines) line.classList.toggle("is-left-out", !isIncluded(line));
    if (!button) return;
    const words = approves
      ? ngettext("Approve %(count)s request, %(seen)s seen", "Approve %(count)s requests, %(seen)s seen", values.count)
      : ngettext("Reject %(count)s request", "Reject %(count)s requests", values.count);
    const text = interpolate(words, values, true);
    if (button.textContent !== text) button.textContent = text;
    button.disabled = values.count === 0;
  }
  document.addEventListener("pausepoint:looked", count);
  form.addEventListener("change", count);

  // --- Which files were opened, beside each.
  /** @param {MouseEvent} event */
  function open({ target }) {
    const link = target instanceof Element ? target.closest("a[data-opens]") : null;
    const state = /** @type {HTMLElement | null | undefined} */ (link?.parentElement?.querySelector("[data-opened]"));
    if (!state?.dataset.opened) return;
    state.textContent = state.dataset.opened;
    delete state.dataset.opened;
  }
  for (const name of /** @type {const} */ (["click", "auxclick"])) document.addEventListener(name, open);

  // --- Without a connection, the browser's own page would take the place of this one, and of what was chosen on it.
  const offline = /** @type {HTMLElement} */ (form.querySelector("[data-offline]"));
  form.addEventListener("submit", (event) => {
    if (navigator.onLine) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    offline.hidden = false;
  }, { capture: true });
  addEventListener("online", () => { offline.hidden = true; });

  // --- The key goes on to what was not in view. It never decides: at the end it only leads to the button.
  function isOff() {
    try { return (localStorage.getItem("pausepoint.keys") ?? form?.dataset.shortcuts) === "off"; } catch { return false; }
  }
  document.addEventListener("keydown", (event) => {
    if (!approves || typing.keyOf(event) !== "a" || event.repeat || event.ctrlKey || event.altKey || event.metaKey || isOff()) return;
    if (typing.isField(event.target) || typing.isInMenu(event.target) || typing.isComposing(event) || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    if (seen.hasJustMoved()) return;
    if (seen.readOn(parts)) return announce(gettext("Press a again to go on."));
    button?.focus();
    announce(lines.every(isSeen) ? gettext("Everything was in view. Press Enter to approve.") : gettext("The rest is not on this page: files that you have not opened, or more values than it shows."));
  });
})();
