// Keys of the list of requests, where they act on the one that has the focus, and of a request's own page. They act on it as
// it is shown.
(function () {
  "use strict";

  const STORED = "pausepoint.keys";
  const list = document.getElementById("inbox"), alone = document.querySelector(".request-main");
  const help = document.getElementById("keys"), hint = document.getElementById("keys-hint");
  if (!help) return;

  const say = (words) => { document.getElementById("announcements").textContent = words; };

  // --- On or off, kept in this browser.
  const toggle = document.getElementById("keys-switch");
  let on = read() !== "off";
  function read() {
    try { return localStorage.getItem(STORED); } catch { return null; }
  }
  function shown() {
    toggle.checked = on;
    hint.classList.toggle("keys-off", !on);
  }
  toggle.addEventListener("change", () => {
    on = toggle.checked;
    try { localStorage.setItem(STORED, on ? "on" : "off"); } catch { say(gettext("This browser does not store settings. Shortcuts are on again on the next page.")); }
    shown();
  });
  document.getElementById("keys-open").addEventListener("click", () => help.showModal());
  hint.hidden = false;
  shown();

  // --- Rows. The one with the focus in it is the marked one.
  const rows = () => [...list.querySelectorAll(".inbox-list > .inbox-row")];
  const marked = () => (list ? document.activeElement?.closest?.(".inbox-row") : alone.querySelector(":scope > .request")) ?? null;
  const titleOf = (row) => row.querySelector(list ? ".row-title" : ".request-head a");
  const cardOf = (row) => (list ? row.querySelector(".inbox-card:not([hidden]) > .request") : row);

  function mark(row) {
    titleOf(row).focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  }

  function move(step) {
    const found = rows(), from = marked();
    const next = from ? found[found.indexOf(from) + step] : found[step > 0 ? 0 : found.length - 1];
    if (!next) {
      say(step > 0 ? gettext("This is the last request on this page.") : gettext("This is the first request on this page."));
      return;
    }
    // Whoever reads card after card finds the next one open.
    const reading = from && cardOf(from) !== null;
    if (reading) {
      // A card with the focus in it counts as in use.
      titleOf(from).focus({ preventScroll: true });
      titleOf(from).click();
    }
    mark(next);
    if (reading && !cardOf(next)) open(next, () => next.scrollIntoView({ block: "nearest" }));
  }

  const waiting = new Map();
  function open(row, then) {
    waiting.set(row.id, then);
    titleOf(row).click();
    opened(row);
  }
  // At once where the card was kept, else when it has come.
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

  // --- What keys do to an open card.
  function press(row, key) {
    const card = cardOf(row), button = card.querySelector(`button[data-key="${key}"]`);
    if (!button) {
      const first = answering(card);
      say(first ? gettext("Choose one of the answers on the card.") : gettext("There is nothing to decide here."));
      first?.focus();
      return;
    }
    const folded = button.closest("details:not([open])"), caution = cautionFor(card);
    const name = key === "a" ? button.form.elements.typed_name : null;
    if (folded) {
      folded.open = true;
      button.focus();
      say(gettext("Press the button to confirm."));
    } else if (name && !name.value) {
      name.focus();
      say(gettext("Critical: type the name first."));
    } else if (caution) {
      button.focus();
      say(caution);
    } else if (!button.disabled) {
      // A click and not a submit: htmx sends the button that was clicked.
      button.click();
    }
  }

  // Why a single key must not decide this card now; undefined where it may. The key then leads to the button.
  function cautionFor(card) {
    if (card.matches(".urgency-critical")) return gettext("Critical: press the button to decide it.");
    const refused = [...document.querySelectorAll(".refusal")].some((shown) => shown.checkVisibility());
    return refused ? gettext("Read the message on this page, then press the button.") : undefined;
  }

  // Who takes it, hands it over or withdraws it has not answered it.
  function answering(card) {
    const controls = [...card.querySelectorAll("form :is(button, textarea, select, input:not([type=hidden]))")];
    return controls.find((control) => !control.closest(".assignee, .more, details:not([open])"));
  }

  function edit(row) {
    const button = cardOf(row).querySelector('button[data-key="e"]');
    if (!button) return say(gettext("This input cannot be edited."));
    const folded = button.closest("details");
    if (folded) folded.open = true;
    (button.form.querySelector("input:not([type=hidden]), textarea, select") ?? button).focus();
  }

  function comment(row) {
    const field = cardOf(row).querySelector('textarea[name="comment"]');
    if (!field) return say(gettext("You cannot send a message for this request."));
    const folded = field.closest("details");
    if (folded) folded.open = true;
    field.focus();
  }

  function raw(row) {
    const folded = cardOf(row).querySelector("details.raw");
    if (!folded) return say(gettext("This request has no raw JSON."));
    folded.open = !folded.open;
    folded.querySelector(folded.open ? "pre" : "summary").focus();
  }

  function select(row) {
    row.querySelector('input[name="pick"]')?.click() ?? say(gettext("This request cannot be selected."));
  }

  const ACTS = {
    a: { does: (row) => press(row, "a"), first: gettext("Opened. Read it, then press a to approve it.") },
    r: { does: (row) => press(row, "r"), first: gettext("Opened. Read it, then press r to reject it.") },
    e: { does: edit, goesOn: true },
    c: { does: comment, goesOn: true },
    v: { does: raw, goesOn: true },
  };

  function act(key, row) {
    const { does, first, goesOn } = ACTS[key];
    if (cardOf(row)) return does(row);
    // Nobody decides what they have not been shown.
    open(row, () => { if (goesOn) does(row); else say(first); });
  }

  // --- What has changed, or is out of sight, is looked at before a key does anything to it.
  function ready(row) {
    if (!row) {
      say(gettext("No request is selected. Press j first."));
      return false;
    }
    if (row.dataset.touched) {
      delete row.dataset.touched;
      row.classList.remove("touched");
      say(gettext("This request has just changed. Look at it, then press again."));
      return false;
    }
    const { top, bottom } = row.getBoundingClientRect();
    if (bottom < 60 || top > innerHeight - 20) {
      mark(row);
      say(gettext("The selected request was off screen. Look at it, then press again."));
      return false;
    }
    if (row.querySelector(".htmx-request")) return false;
    return true;
  }

  // A card that stands alone is replaced as a whole; in the list, its line bears the mark.
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
      if (row) mark(row);
      else event.target.blur();
      return;
    }
    // A key that is held down moves, and decides nothing.
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
