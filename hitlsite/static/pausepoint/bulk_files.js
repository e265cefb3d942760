// The page before a bulk decision: which files of the requests were opened. Its form says so, and the page does beside each file.
(() => {
  "use strict";

  const form = document.querySelector("form[data-bulk]");
  if (!form) return;

  /** @param {MouseEvent} event */
  function open({ target }) {
    const link = target instanceof Element ? target.closest("a[data-opens]") : null, place = link?.getAttribute("data-opens");
    const state = /** @type {HTMLElement | null | undefined} */ (link?.parentElement?.querySelector("[data-opened]"));
    if (!place || !state?.dataset.opened) return;
    state.textContent = state.dataset.opened;
    delete state.dataset.opened;
    const field = document.createElement("input");
    Object.assign(field, { type: "hidden", name: "opened", value: place });
    form?.append(field);
  }
  for (const name of /** @type {const} */ (["click", "auxclick"])) document.addEventListener(name, open);
})();
