// The inbox: new requests wait behind a button, changed rows change in place, and selected rows are counted.
(() => {
  "use strict";

  const MAX_PICKS = 50;
  const page = document.getElementById("inbox"), bar = document.getElementById("bulk");
  const pane = window.pausepoint.pane;
  if (!page || !bar || !pane) return;

  /** @param {string} words */
  const announce = (words) => { document.getElementById("announcements").textContent = words; };
  /** @param {string} words @param {number} number */
  const withNumber = (words, number) => interpolate(words, [number]);
  /** @template {string} S @param {S} selector @param {ParentNode} within */
  const all = (selector, within = page) => [...within.querySelectorAll(selector)];

  // --- A row that a push replaces keeps its place, its focus and its selection. If it is the open one, the next key on it only
  // removes the mark.
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    const shown = event.detail.target, fresh = event.detail.fragment.firstElementChild;
    if (!fresh || fresh.id !== shown.id || !shown.matches(".inbox-row")) return;
    // A new request that is not shown yet and no longer matches the filters is dropped.
    if (arrivals.contains(shown) && fresh.dataset.left !== undefined) {
      event.detail.shouldSwap = false;
      shown.remove();
      return;
    }
    const id = pane.idOf(shown), focused = shown.contains(document.activeElement);
    const picked = shown.querySelector('input[name="pick"]')?.checked;
    const changed = fresh.dataset.version !== shown.dataset.version;
    fresh.classList.toggle("selected", shown.matches(".selected"));
    const box = fresh.querySelector('input[name="pick"]');
    if (box && picked) box.checked = true;
    // A vote of one's own is no news.
    const voted = fresh.matches(".is-voted") && !shown.matches(".is-voted");
    if (changed && !voted && id === pane.current() && !pane.wasDecidedHere(id)) {
      fresh.dataset.touched = "yes";
      fresh.classList.add("touched");
    }
    queueMicrotask(() => {
      if (focused) fresh.querySelector(".row-title").focus({ preventScroll: true });
      if (id === pane.current()) pane.show();
      count();
    });
  });
  document.addEventListener("pausepoint:opened", (event) => {
    for (const row of all(".inbox-row.touched")) if (pane.idOf(row) !== event.detail.id) untouch(row);
  });
  /** @param {HTMLElement} row */
  function untouch(row) {
    delete row.dataset.touched;
    row.classList.remove("touched");
  }

  // --- New requests are announced, and put into their sections when the button is pressed.
  const arrivals = document.getElementById("arrivals"), show = document.getElementById("arrivals-show");
  let announced = 0;
  function announceNew() {
    // While there are more rows to load, a request that is assigned or commented on may just be further down.
    const more = document.getElementById("more-rows");
    for (const row of [...arrivals.children]) if (more && row.dataset.quiet !== undefined) row.remove();
    const waiting = arrivals.childElementCount;
    show.hidden = waiting === 0;
    show.textContent = withNumber(ngettext("Show %s new request", "Show %s new requests", waiting), waiting);
    if (waiting > announced) announce(withNumber(ngettext("%s new request", "%s new requests", waiting), waiting));
    announced = waiting;
    document.dispatchEvent(new CustomEvent("pausepoint:counts-soon"));
  }
  new MutationObserver(announceNew).observe(arrivals, { childList: true });
  show.addEventListener("click", () => {
    const rows = [...arrivals.children].sort((one, other) => Number(one.dataset.urgency) - Number(other.dataset.urgency));
    for (const row of rows) {
      const list = listFor(row), after = all(":scope > .inbox-row", list).find((other) => Number(other.dataset.urgency) > Number(row.dataset.urgency));
      row.classList.add("arrived");
      list.insertBefore(row, list.id === "list-recent" || list.id === "list-new" ? null : after ?? list.querySelector(":scope > .more-rows"));
    }
    document.getElementById("inbox-empty")?.remove();
    rows[0]?.scrollIntoView({ block: "nearest" });
    rows[0]?.querySelector(".row-title").focus({ preventScroll: true });
    count();
  });
  /** @param {Element} row @returns {HTMLElement} */
  function listFor(row) {
    const name = row.dataset.section;
    return document.getElementById(`list-${name}`) ?? document.getElementById("list-new") ?? document.getElementById("list-waiting");
  }

  // --- The numbers beside saved views are asked for again a while after something has changed.
  let later = 0;
  for (const name of ["htmx:wsAfterMessage", "pausepoint:counts-soon"]) {
    document.addEventListener(name, () => {
      clearTimeout(later);
      later = setTimeout(() => document.dispatchEvent(new CustomEvent("pausepoint:counts")), 3000);
    });
  }

  // --- Checkboxes: how many are selected, and at most as many as one bulk decision takes. Shift selects a range.
  const total = document.getElementById("bulk-count"), every = document.getElementById("bulk-all");
  const boxes = () => all('.inbox-list input[name="pick"]');
  /** @type {HTMLInputElement | null} */
  let last = null;
  function count() {
    const found = boxes(), picked = found.filter((box) => box.checked).length;
    bar.classList.toggle("idle", picked === 0);
    total.textContent = picked ? withNumber(ngettext("%s selected", "%s selected", picked), picked) : "";
    document.getElementById("bulk-every").hidden = found.length === 0;
    every.checked = picked > 0;
    every.indeterminate = picked > 0 && picked < Math.min(found.length, MAX_PICKS);
  }
  /** @param {HTMLInputElement} box */
  function range(box) {
    const found = boxes(), [one, other] = [last ? found.indexOf(last) : -1, found.indexOf(box)];
    if (one < 0 || other < 0) return;
    for (const between of found.slice(Math.min(one, other), Math.max(one, other) + 1)) between.checked = box.checked;
  }
  page.addEventListener("click", (event) => {
    // A finger that misses the box by a little meant it.
    if (event.target.matches(".pick")) event.target.querySelector("input")?.click();
    const box = event.target.closest('input[name="pick"]');
    if (box && event.shiftKey && last) range(box);
    if (box) last = box;
  });
  page.addEventListener("change", (event) => {
    if (event.target.name !== "pick") return;
    const over = boxes().filter((box) => box.checked).slice(MAX_PICKS);
    for (const box of over) box.checked = false;
    if (over.length) announce(withNumber(ngettext("You can select at most %s request.", "You can select at most %s requests.", MAX_PICKS), MAX_PICKS));
    count();
  });
  every.addEventListener("change", () => {
    boxes().forEach((box, index) => { box.checked = every.checked && index < MAX_PICKS; });
    count();
  });
  document.addEventListener("htmx:afterSettle", count);
  count();

  // --- One menu is open at a time, and in it one field. Escape closes the innermost, a press elsewhere closes all.
  document.addEventListener("click", (event) => {
    for (const chip of all("details.chip[open]")) if (!chip.contains(event.target)) chip.open = false;
  });
  document.addEventListener("keydown", (event) => {
    const chip = event.key === "Escape" && all("details.chip[open]").at(-1);
    if (!chip) return;
    event.preventDefault();
    chip.open = false;
    chip.querySelector("summary").focus();
  }, true);
  document.addEventListener("toggle", (event) => {
    if (!event.target.matches?.("details.chip[open]")) return;
    const first = event.target.querySelector(":scope > .chip-menu > form input:not([type=hidden], [type=date]), :scope > .chip-menu > .chip-box summary");
    // On a phone, a field with the focus opens the keyboard over the menu.
    if (first && (first.matches("summary") || matchMedia("(pointer: fine)").matches)) first.focus();
  }, true);
  // The arrow keys go through a menu; in a field they are its own.
  page.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key], menu = event.target.closest(".filter-bar > .chip[open], .chips .chip[open], .orders .chip[open]");
    if (!step || !menu || event.target.matches("input")) return;
    event.preventDefault();
    const items = all("summary, a, button", menu).filter((one) => one.checkVisibility());
    items.at((items.indexOf(event.target) + step) % items.length)?.focus();
  });
  // Leave an empty search out of the address.
  document.getElementById("filters").addEventListener("submit", (event) => {
    const field = event.target.elements.q;
    if (field.value.trim()) return;
    field.disabled = true;
    addEventListener("pageshow", () => { field.disabled = false; }, { once: true });
  });
})();
