// The Workflows page: rows change in place, and new ones wait behind a button.
(() => {
  "use strict";

  const page = document.getElementById("workflows"), arrivals = document.getElementById("arrivals");
  const show = document.getElementById("arrivals-show");
  if (!page || !arrivals) return;

  /** @param {string} words */
  const announce = (words) => { document.getElementById("announcements").textContent = words; };
  let announced = 0;
  function announceNew() {
    // A page of only one list gets nothing that belongs to the other.
    for (const row of [...arrivals.children]) if (page.dataset.show && row.dataset.list !== page.dataset.show) row.remove();
    const waiting = arrivals.childElementCount;
    show.hidden = waiting === 0;
    const words = interpolate(ngettext("Show %s new workflow", "Show %s new workflows", waiting), [waiting]);
    show.textContent = words;
    if (waiting > announced) announce(interpolate(ngettext("%s new workflow", "%s new workflows", waiting), [waiting]));
    announced = waiting;
  }
  new MutationObserver(announceNew).observe(arrivals, { childList: true });

  show.addEventListener("click", () => {
    const rows = [...arrivals.children];
    for (const row of rows) {
      const list = /** @type {HTMLElement} */ (document.getElementById(row.dataset.list));
      row.classList.add("arrived");
      if (row.dataset.list === "completed") list.prepend(row);
      else list.append(row);
    }
    rows[0]?.scrollIntoView({ block: "nearest" });
    rows[0]?.querySelector(".row-title").focus({ preventScroll: true });
  });

  // A row that a push replaces keeps the focus.
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    const shown = event.detail.target, fresh = event.detail.fragment.firstElementChild;
    if (!fresh || fresh.id !== shown.id || !shown.matches(".workflow-row")) return;
    if (fresh.dataset.version === shown.dataset.version) event.detail.shouldSwap = false;
    else if (shown.contains(document.activeElement)) queueMicrotask(() => fresh.querySelector(".row-title").focus({ preventScroll: true }));
  });
})();
