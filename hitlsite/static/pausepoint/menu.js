// The user menu: arrow keys move in it, and a theme applies at once. Without this script it opens, closes and sends forms as well.
(() => {
  "use strict";

  const menu = document.getElementById("user-menu");
  if (!menu) return;

  const items = () => [...menu.querySelectorAll("a, button")].filter((one) => one.checkVisibility() && !one.matches(":disabled"));

  // The focus moves into the menu when it opens, and back to its button when Escape closes it.
  menu.addEventListener("toggle", (event) => {
    if (event.newState === "open") menu.querySelector("a")?.focus();
  });

  menu.addEventListener("keydown", (event) => {
    const all = items(), at = all.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    /** @type {Record<string, number>} */
    const places = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 };
    const next = places[event.key];
    if (next === undefined) return;
    event.preventDefault();
    all.at(next % all.length)?.focus();
  });

  // --- Nothing that was typed stays in the browser of someone who has logged out: no draft, and no decision that was not sent.
  menu.querySelector("form[data-logout]").addEventListener("submit", ({ target }) => {
    for (const kind of ["drafts", "held"]) {
      try { localStorage.removeItem(`pausepoint.${kind}.${target.dataset.logout}`); } catch { /* Forbidden. */ }
    }
  });

  // --- The theme: shown now, stored meanwhile. If it cannot be stored, the form is sent as without this script.
  const themes = menu.querySelector("[data-themes]");

  // The admin has the theme as a class of its body.
  /** @param {string} theme */
  function show(theme) {
    const root = document.documentElement, { classList } = document.body;
    if (root.dataset.theme) root.dataset.theme = theme;
    else for (const one of ["system", "light", "dark"]) classList.toggle(`theme-${one}`, one === theme);
  }

  themes.addEventListener("submit", async (event) => {
    const chosen = event.submitter;
    if (!chosen) return;
    event.preventDefault();
    show(chosen.value);
    for (const one of themes.querySelectorAll("button")) one.setAttribute("aria-pressed", String(one === chosen));
    const body = new FormData(themes, chosen);
    const headers = { "HX-Request": "true" };
    try { await fetch(themes.action, { method: "POST", body, headers }); } catch { themes.submit(); }
  });
})();
