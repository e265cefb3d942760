// The branches of an input can be folded, and stay so for the same tool: this browser remembers it by tool and path.
(() => {
  "use strict";

  const STORED = "pausepoint.folds", MOST = 400;

  function read() {
    try { return JSON.parse(localStorage.getItem(STORED)) ?? {}; } catch { return {}; }
  }
  /** @param {Record<string, 1>} folds */
  function write(folds) {
    try { localStorage.setItem(STORED, JSON.stringify(Object.fromEntries(Object.entries(folds).slice(-MOST)))); } catch { /* Not remembered. */ }
  }

  // The names that lead to a branch. Numbers of a list do not matter: its items look alike.
  /** @param {HTMLElement} branch */
  function keyOf(branch) {
    const names = [];
    for (let row = branch.closest("tr"); row; row = row.parentElement?.closest("tr") ?? null) {
      const name = row.querySelector(":scope > th")?.firstChild?.textContent?.trim() ?? "";
      names.unshift(/^\d+$/.test(name) ? "*" : name);
    }
    return [branch.closest("[data-tool]")?.dataset.tool, ...names].join("/");
  }

  document.addEventListener("toggle", (event) => {
    const branch = event.target;
    if (!branch.matches?.("details.branch") || branch.dataset.ready === undefined || !branch.closest("[data-tool]")) return;
    const { [keyOf(branch)]: _old, ...folds } = read();
    write(branch.open ? folds : { ...folds, [keyOf(branch)]: 1 });
  }, true);

  /** @param {ParentNode} root */
  function ready(root) {
    const folds = read();
    for (const branch of root.querySelectorAll("details.branch:not([data-ready])")) {
      if (branch.closest("[data-tool]") && folds[keyOf(branch)] && branch.closest(".is-pending")) branch.open = false;
      // The first toggle event is that of this script.
      setTimeout(() => { branch.dataset.ready = ""; });
    }
  }
  document.addEventListener("DOMContentLoaded", () => ready(document));
  document.addEventListener("htmx:load", (event) => ready(event.detail.elt.parentElement ?? document));

  // --- Arrow keys, as in any tree: left folds, right opens.
  document.addEventListener("keydown", (event) => {
    const branch = /** @type {HTMLDetailsElement | null} */ (event.target.parentElement);
    if (!branch || !event.target.matches(".branch > summary") || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "ArrowLeft" && branch.open) branch.open = false;
    else if (event.key === "ArrowRight" && !branch.open) branch.open = true;
    else if (event.key === "ArrowLeft") branch.parentElement?.closest(".branch")?.querySelector(":scope > summary")?.focus();
    else return;
    event.preventDefault();
  });
})();
