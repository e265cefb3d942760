// Keyboard shortcuts of the inbox, where they act on the row with the focus, and of a request's page.
(function () {
  "use strict";

  const STORED = "pausepoint.keys";
  const list = document.getElementById("inbox"), alone = document.querySelector(".request-main");
  const help = document.getElementById("keys"), hint = document.getElementById("keys-hint");
  if (!help) return;

  const announce = (words) => { document.getElementById("announcements").textContent = words; };

  // --- On or off, stored in this browser.
  const toggle = document.getElementById("keys-switch");
  let on = read() !== "off";
  function read() {
    try { return localStorage.getItem(STORED); } catch { return null; }
  }
  function showState() {
    toggle.checked = on;
    hint.classList.toggle("keys-off", !on);
  }
  toggle.addEventListener("change", () => {
    on = toggle.checked;
    try { localStorage.setItem(STORED, on ? "on" : "off"); } catch { announce(gettext("This browser does not store settings. Shortcuts are on again on the next page.")); }
    showState();
  });
  document.getElementById("keys-open").addEventListener("click", () => help.showModal());
  hint.hidden = false;
  showState();

  // --- Rows. The row that contains the focus is the selected one.
  const rows = () => [...list.querySelectorAll(".inbox-list > .inbox-row")];
  const marked = () => (list ? document.activeElement?.closest?.(".inbox-row") : alone.querySelector(":scope > .request")) ?? null;
  const titleOf = (row) => row.querySelector(list ? ".row-title" : ".request-head a");
  const cardOf = (row) => (list ? row.querySelector(".inbox-card:not([hidden]) > .request") : row);

  function focusRow(row) {
    titleOf(row).focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  }

  function move(step) {
    const found = rows(), from = marked();
    const next = from ? found[found.indexOf(from) + step] : found[step > 0 ? 0 : found.length - 1];
    if (!next) {
      announce(step > 0 ? gettext("This is the last request on this page.") : gettext("This is the first request on this page."));
      return;
    }
    // If the card of this row is open, open that of the next one.
    const reading = from && cardOf(from) !== null;
    if (reading) {
      // A card that contains the focus would count as in use and not be closed.
      titleOf(from).focus({ preventScroll: true });
      titleOf(from).click();
    }
    focusRow(next);
    if (reading && !cardOf(next)) open(next, () => next.scrollIntoView({ block: "nearest" }));
  }

  const waiting = new Map();
  function open(row, then) {
    waiting.set(row.id, then);
    titleOf(row).click();
    opened(row);
  }
  // Runs at once if the card is still on the page, else when it has loaded.
  function opened(row) {
    const then = waiting.get(row.id);
    if (!then || !cardOf(row)) return;
    waiting.delete(row.id);
    then();
  }
  document.addEventListener("htmx:afterSettle", (event) => {
    const row = event.target.closest?.(".inbox-row");
    if (row) opened(row);
  });

  // --- What keys do on an open card.
  function press(row, key) {
    const card = cardOf(row), button = card.querySelector(`button[data-key="${key}"]`);
    if (!button) {
      const first = answering(card);
      announce(first ? gettext("Choose one of the answers on the card.") : gettext("There is nothing to decide here."));
      first?.focus();
      return;
    }
    const collapsed = button.closest("details:not([open])"), caution = cautionFor(card);
    const name = key === "a" ? button.form.elements.typed_name : null;
    if (collapsed) {
      collapsed.open = true;
      button.focus();
      announce(gettext("Press the button to confirm."));
    } else if (name && !name.value) {
      name.focus();
      announce(gettext("Critical: type the name first."));
    } else if (caution) {
      button.focus();
      announce(caution);
    } else if (!button.disabled) {
      // Click instead of submitting the form, so that htmx sends the value of the button.
      button.click();
    }
  }

  // Returns why a single key must not decide this card now, or undefined. If it must not, the key only focuses the button.
  function cautionFor(card) {
    if (card.matches(".urgency-critical")) return gettext("Critical: press the button to decide it.");
    const refused = [...document.querySelectorAll(".refusal")].some((shown) => shown.checkVisibility());
    return refused ? gettext("Read the message on this page, then press the button.") : undefined;
  }

  // Returns the first control that answers the request; assigning or cancelling it is not an answer.
  function answering(card) {
    const controls = [...card.querySelectorAll("form :is(button, textarea, select, input:not([type=hidden]))")];
    return controls.find((control) => !control.closest(".assignee, .more, details:not([open])"));
  }

  function edit(row) {
    const button = cardOf(row).querySelector('button[data-key="e"]');
    if (!button) return announce(gettext("This input cannot be edited."));
    const details = button.closest("details");
    if (details) details.open = true;
    (button.form.querySelector("input:not([type=hidden]), textarea, select") ?? button).focus();
  }

  function comment(row) {
    const field = cardOf(row).querySelector('textarea[name="comment"]');
    if (!field) return announce(gettext("You cannot send a message for this request."));
    const details = field.closest("details");
    if (details) details.open = true;
    field.focus();
  }

  function raw(row) {
    const details = cardOf(row).querySelector("details.raw");
    if (!details) return announce(gettext("This request has no raw JSON."));
    details.open = !details.open;
    details.querySelector(details.open ? "pre" : "summary").focus();
  }

  function select(row) {
    row.querySelector('input[name="pick"]')?.click() ?? announce(gettext("This request cannot be selected."));
  }

  const ACTS = {
    a: { does: (row) => press(row, "a"), first: gettext("Opened. Read it, then press a to approve it.") },
    r: { does: (row) => press(row, "r"), first: gettext("Opened. Read it, then press r to reject it.") },
    e: { does: edit },
    c: { does: comment },
    v: { does: raw },
  };

  function act(key, row) {
    const { does, first } = ACTS[key];
    if (cardOf(row)) return does(row);
    // Keys that decide only open the card at first, so that no one decides what they have not seen.
    open(row, () => { if (first) announce(first); else does(row); });
  }

  // --- If a request has just changed or is off screen, the first key only shows it.
  function ready(row) {
    if (!row) {
      announce(gettext("No request is selected. Press j first."));
      return false;
    }
    if (row.dataset.touched) {
      delete row.dataset.touched;
      row.classList.remove("touched");
      announce(gettext("This request has just changed. Look at it, then press again."));
      return false;
    }
    const { top, bottom } = row.getBoundingClientRect();
    if (bottom < 60 || top > innerHeight - 20) {
      focusRow(row);
      announce(gettext("The selected request was off screen. Look at it, then press again."));
      return false;
    }
    if (row.querySelector(".htmx-request")) return false;
    return true;
  }

  // On its own page, the whole card is replaced and marked as changed; in the inbox, its row is.
  if (alone) {
    document.addEventListener("htmx:oobBeforeSwap", (event) => {
      const fresh = event.detail.fragment.firstElementChild, card = marked();
      if (fresh && fresh.id === card?.id && fresh.dataset.version !== card.dataset.version) fresh.dataset.touched = "yes";
    });
  }

  const FIELDS = "input:not([type=checkbox], [type=hidden]), textarea, select, [contenteditable]";

  document.addEventListener("keydown", (event) => {
    if (!on || event.defaultPrevented || event.isComposing || event.ctrlKey || event.altKey || event.metaKey) return;
    if (document.querySelector("dialog[open]")) return;
    const row = marked();
    if (event.target.matches?.(FIELDS)) {
      if (event.key !== "Escape") return;
      event.preventDefault();
      if (row && list) focusRow(row);
      else event.target.blur();
      return;
    }
    // A key that is held down may move the selection but not decide.
    if (event.repeat && event.key !== "j" && event.key !== "k") return;
    if (run(event.key, row)) event.preventDefault();
  });

  function run(key, row) {
    if (key === "?") help.showModal();
    else if (key in ACTS) { if (ready(row)) act(key, row); }
    else if (!list) return false;
    else if (key === "j" || key === "k") move(key === "j" ? 1 : -1);
    else if (key === "/") document.getElementById("filter-q").focus();
    else if (key === "x") { if (ready(row)) select(row); }
    else return false;
    return true;
  }
})();
