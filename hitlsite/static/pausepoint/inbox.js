// The inbox: cards open in place, new requests are inserted on request, and selected rows are counted.
(function () {
  "use strict";

  const MAX_PICKS = 50;
  const page = document.getElementById("inbox");
  const list = document.getElementById("inbox-list");
  const bar = document.getElementById("bulk");
  if (!page || !list) return;

  const announce = (words) => { document.getElementById("announcements").textContent = words; };
  const withNumber = (words, number) => interpolate(words, [number]);
  const all = (selector, within = page) => [...within.querySelectorAll(selector)];

  // --- A title opens and closes the card of its request; with a modifier key it stays a link. A card with unsent input is only
  // hidden when it is closed.
  for (const title of all(".row-title")) title.setAttribute("aria-expanded", "false");
  document.addEventListener("click", (event) => {
    const title = event.target.closest?.(".inbox-row .row-title");
    if (!title || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const row = title.closest(".inbox-row"), card = row.querySelector(".inbox-card");
    if (!card.firstElementChild) return;
    // The card is here already, so htmx must not fetch it again.
    event.preventDefault();
    event.stopImmediatePropagation();
    if (card.hidden) card.hidden = false;
    else if (hasInput(card)) card.hidden = true;
    else card.replaceChildren();
    title.setAttribute("aria-expanded", String(isOpen(row)));
    if (isOpen(row)) row.scrollIntoView({ block: "nearest" });
  }, true);

  function isOpen(row) {
    return row.querySelector(".inbox-card:not([hidden], :empty)") !== null;
  }
  function hasInput(card) {
    const request = card.querySelector(":scope > .request");
    return request !== null && (window.pausepoint.inUse(request) || request.querySelector(".htmx-request") !== null);
  }

  document.addEventListener("htmx:afterSwap", (event) => {
    const row = event.target.closest?.(".inbox-row");
    if (!row) return;
    const card = row.querySelector(".inbox-card > .request");
    row.querySelector(".row-title").setAttribute("aria-expanded", String(isOpen(row)));
    if (card?.matches(".is-pending") && isOpen(row)) row.scrollIntoView({ block: "nearest" });
    showDecision(row, card);
  });

  // Show a decision in its row at once; a push replaces the row later.
  function showDecision(row, card) {
    const head = row.querySelector(".row-head"), outcome = card?.querySelector(".outcome p");
    if (!outcome || !head.matches(".is-pending")) return;
    head.classList.replace("is-pending", "is-over");
    head.querySelector(".row-gist").textContent = outcome.textContent.trim();
    head.querySelector(".pick").replaceChildren();
    count();
  }

  // --- A row that is replaced by a push keeps the focus and is marked; the next key on it only removes the mark.
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    const shown = event.detail.target, fresh = event.detail.fragment.firstElementChild;
    const row = shown.closest?.(".inbox-row");
    if (!row || !fresh || fresh.id !== shown.id) return;
    // A new request that is not shown yet and no longer matches the filters is dropped.
    if (fresh.dataset.left !== undefined && arrivals.contains(row)) {
      event.detail.shouldSwap = false;
      row.remove();
      return;
    }
    if (fresh.dataset.version === shown.dataset.version) return;
    if (row.contains(document.activeElement)) {
      row.dataset.touched = "yes";
      row.classList.add("touched");
    }
    const focused = shown.contains(document.activeElement), head = shown.matches(".row-head");
    queueMicrotask(() => {
      if (head) fresh.querySelector(".row-title").setAttribute("aria-expanded", String(isOpen(row)));
      if (focused && head) fresh.querySelector(".row-title").focus({ preventScroll: true });
      count();
    });
  });
  document.addEventListener("focusin", (event) => {
    const row = event.target.closest?.(".inbox-row");
    for (const other of all(".inbox-row.touched")) if (other !== row) untouch(other);
  });
  function untouch(row) {
    delete row.dataset.touched;
    row.classList.remove("touched");
  }

  // --- New requests are announced, and appended to the list when the button is pressed.
  const arrivals = document.getElementById("arrivals"), note = document.getElementById("arrivals-note");
  const show = document.getElementById("arrivals-show");
  let announced = 0;
  function announceNew() {
    const waiting = arrivals.childElementCount;
    note.hidden = waiting === 0;
    show.textContent = withNumber(ngettext("Show %s new request", "Show %s new requests", waiting), waiting);
    if (waiting > announced) announce(withNumber(ngettext("%s new request", "%s new requests", waiting), waiting));
    announced = waiting;
  }
  new MutationObserver(announceNew).observe(arrivals, { childList: true });
  show.addEventListener("click", () => {
    const rows = [...arrivals.children].sort((one, other) => one.dataset.urgency - other.dataset.urgency);
    for (const row of rows) row.querySelector(".row-title").setAttribute("aria-expanded", "false");
    if (rows.length) addHeading();
    list.append(...rows);
    document.getElementById("inbox-empty")?.remove();
    rows[0]?.querySelector(".row-title").focus();
  });

  // In a grouped list, new requests get a heading of their own.
  function addHeading() {
    if (list.dataset.heading === undefined) return;
    const heading = document.createElement("h2");
    heading.className = "inbox-group";
    heading.textContent = list.dataset.heading;
    list.before(heading);
    delete list.dataset.heading;
  }

  // --- Checkboxes: how many are selected, and at most as many as one bulk decision takes.
  const total = document.getElementById("bulk-count"), every = document.getElementById("bulk-all");
  const boxes = () => all('.inbox-list input[name="pick"]');
  function count() {
    const picked = boxes().filter((box) => box.checked).length;
    bar.classList.toggle("idle", picked === 0);
    total.textContent = picked ? withNumber(ngettext("%s selected", "%s selected", picked), picked) : "";
    every.hidden = boxes().length === 0;
    every.textContent = picked ? gettext("Select none") : gettext("Select all shown");
  }
  page.addEventListener("change", (event) => {
    if (event.target.name !== "pick") return;
    if (boxes().filter((box) => box.checked).length > MAX_PICKS) {
      event.target.checked = false;
      announce(withNumber(ngettext("You can select at most %s request.", "You can select at most %s requests.", MAX_PICKS), MAX_PICKS));
    }
    count();
  });
  every.addEventListener("click", () => {
    const some = boxes().some((box) => box.checked);
    boxes().forEach((box, index) => { box.checked = !some && index < MAX_PICKS; });
    count();
  });
  count();

  // --- Leave empty filters out of the query string.
  document.getElementById("filters").addEventListener("submit", (event) => {
    const empty = [...event.target.elements].filter((field) => field.name && !field.value);
    for (const field of empty) field.disabled = true;
    // Enable the fields again for when the person comes back to this page.
    addEventListener("pageshow", () => { for (const field of empty) field.disabled = false; }, { once: true });
  });
})();
