// Tabs: one row of buttons, of whose panels one is shown. Pushes keep it, and a new page begins with the first.
(() => {
  "use strict";

  /** @param {HTMLElement} tab */
  const panelOf = (tab) => document.getElementById(tab.getAttribute("aria-controls") ?? "");
  /** @param {HTMLElement} tab */
  const tabsBeside = (tab) => [.../** @type {Element} */ (tab.closest("[role=tablist]")).querySelectorAll("button[role=tab]")];

  /** @param {HTMLElement} tab */
  function select(tab) {
    for (const other of tabsBeside(tab)) {
      other.setAttribute("aria-selected", String(other === tab));
      other.tabIndex = other === tab ? 0 : -1;
      const panel = panelOf(other);
      if (panel) panel.hidden = other !== tab;
    }
  }

  // Shows the panel that holds an element, before that gets the focus.
  /** @param {Element | null} element */
  function reveal(element) {
    const panel = element?.closest("[role=tabpanel][hidden]");
    const tab = panel && document.getElementById(panel.getAttribute("aria-labelledby") ?? "");
    if (tab) select(tab);
  }
  window.pausepoint.reveal = reveal;

  document.addEventListener("click", (event) => {
    const tab = event.target.closest?.("button[role=tab]");
    if (tab) select(tab);
  });
  document.addEventListener("keydown", (event) => {
    if (!event.target.matches?.("button[role=tab]") || event.altKey || event.ctrlKey || event.metaKey) return;
    const tabs = tabsBeside(event.target), at = tabs.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 }[event.key];
    const tab = next === undefined ? undefined : tabs.at(next % tabs.length);
    if (!tab) return;
    event.preventDefault();
    select(tab);
    tab.focus();
  });

  // --- A link to something in a panel, such as the notes, and a refusal there.
  function follow() {
    reveal(location.hash.length > 1 ? document.getElementById(location.hash.slice(1)) : null);
  }
  addEventListener("hashchange", follow);
  document.addEventListener("DOMContentLoaded", () => {
    follow();
    reveal(document.querySelector("[role=tabpanel] .refusal"));
  });

  // --- How many notes there are, also after one was pushed or written.
  for (const name of ["htmx:afterSwap", "htmx:wsAfterMessage"]) document.addEventListener(name, () => {
    for (const panel of document.querySelectorAll(".tab-notes")) {
      const count = panel.querySelectorAll(".internal-note").length;
      const shown = document.getElementById(panel.getAttribute("aria-labelledby") ?? "")?.querySelector(".tab-count");
      if (shown) Object.assign(shown, { textContent: String(count), hidden: count === 0 });
    }
  });
})();
