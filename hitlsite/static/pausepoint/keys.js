// Keyboard shortcuts of the inbox, where they act on the selected row, and of a request's page.
(() => {
  "use strict";

  const STORED = "pausepoint.keys";
  const pane = window.pausepoint.pane, alone = document.querySelector(".request-main");
  const list = pane ? document.getElementById("inbox") : null;
  const help = document.getElementById("keys"), hint = document.getElementById("keys-hint");
  if (!help || !(list || alone)) return;

  /** @param {string} words */
  const announce = (words) => { document.getElementById("announcements").textContent = words; };

  // --- On or off, stored in this browser.
  const toggle = document.getElementById("keys-switch");
  let on = (read() ?? help.dataset.shortcuts) !== "off";
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
  showState();

  // --- In the inbox the selected row has the focus or is open; its card is the one in the pane, once it is there. A request
  // that is open and has no row, because of a filter or a later page, is its card alone.
  const opened = () => (list ? pane.rowOf(pane.current()) ?? pane.card() : alone?.querySelector(":scope > .request")) ?? null;
  const marked = () => (list && pane.selected()) ?? opened();
  /** @param {HTMLElement} row */
  const titleOf = (row) => row.querySelector(list ? ".row-title" : ".request-head a, summary, button");
  /** @param {HTMLElement} row */
  const isOpen = (row) => !list || pane.current() === pane.idOf(row);
  /** @param {HTMLElement} row */
  const cardOf = (row) => (list ? (isOpen(row) && pane.isLoaded() ? pane.card() : null) : row);
  // For keys that act only on an open card.
  /** @param {HTMLElement} row */
  const openCardOf = (row) => /** @type {HTMLElement} */ (cardOf(row));
  const detailOf = () => (list ? document.getElementById("detail-body") : document.getElementById("request-detail"));

  /** @param {HTMLElement} row */
  function focusRow(row) {
    (titleOf(row) ?? row).focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  }

  // Runs once the request is in the pane.
  /** @param {HTMLElement} row @param {() => void} then */
  function open(row, then) {
    const id = pane.idOf(row);
    document.addEventListener("pausepoint:opened", (event) => { if (event.detail.id === id) then(); }, { once: true });
    pane.open(id);
  }

  // --- What keys do on an open card.
  /** @param {HTMLElement} row @param {string} key */
  function press(row, key) {
    const card = openCardOf(row), option = /** @type {HTMLButtonElement | undefined} */ (card.querySelectorAll(".choice")[Number(key) - 1]);
    if (Number(key) && !option) return;
    const button = option ?? card.querySelector(`button[data-key="${key}"]`);
    if (card.dataset.held !== undefined) return announce(gettext("You have already decided this request."));
    if (!button) {
      const first = answering(card);
      announce(first ? gettext("Choose one of the answers on the card.") : gettext("There is nothing to decide here."));
      first?.focus();
      return;
    }
    // One of several that go together is only marked.
    if (button.matches("label")) return button.click();
    if (window.pausepoint.seen.hasJustMoved()) return announce(gettext("The page has just moved. Look at it, then press again."));
    // First the rest of it, page by page.
    if (key === "a" && window.pausepoint.seen.readOn([card])) {
      return announce(window.pausepoint.seen.goToFile(card) ? gettext("You have not seen this file. Press Enter to open it.") : gettext("You have not seen all of it. Read on, then press a again."));
    }
    const collapsed = button.closest("details:not([open])"), caution = cautionFor(card);
    const name = key === "a" ? button.form?.elements.typed_name : null;
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
  /** @param {HTMLElement} card */
  function cautionFor(card) {
    if (card.matches(".urgency-critical")) return gettext("Critical: press the button to decide it.");
    // What was not in view when it was refused may have been looked at since.
    const isRead = card.dataset.warned !== undefined && window.pausepoint.seen.isSeen(card);
    const refused = [...document.querySelectorAll(".refusal")].some((shown) => shown.checkVisibility() && !(isRead && card.contains(shown)));
    return refused ? gettext("Read the message on this page, then press the button.") : undefined;
  }

  // Returns the first control that answers the request; assigning or cancelling it is not an answer.
  /** @param {HTMLElement} card */
  function answering(card) {
    const controls = [...card.querySelectorAll("form :is(button, textarea, select, input:not([type=hidden]))")];
    return controls.find((control) => !control.closest(".assignee, .more, .slot-about, details:not([open])"));
  }

  /** @param {HTMLElement} row */
  function grant(row) {
    const card = openCardOf(row), link = card.querySelector("a[data-grants]");
    if (!link || card.dataset.held !== undefined) return announce(gettext("This request can only be approved by itself."));
    link.click();
  }

  /** @param {HTMLElement} row */
  function edit(row) {
    const button = openCardOf(row).querySelector('button[data-key="e"]');
    if (!button) return announce(gettext("This input cannot be edited."));
    enter(button.closest("details"), button.form?.querySelector("input:not([type=hidden]), textarea, select") ?? button);
  }

  /** @param {HTMLDetailsElement | null} details @param {HTMLElement} field */
  function enter(details, field) {
    if (details) details.open = true;
    window.pausepoint.reveal(field);
    field.focus();
    field.scrollIntoView({ block: "nearest" });
  }

  // The message to the agent; after the decision, an internal note.
  /** @param {HTMLElement} row */
  function comment(row) {
    const find = (/** @type {string} */ fields) => openCardOf(row).querySelector(fields);
    const field = find("details.edit[open] textarea[name=comment]") ?? find(".verdicts textarea[name=comment], .answers input[id]");
    if (!field) return note();
    enter(field.closest("details"), field);
  }

  function note() {
    const field = detailOf().querySelector('form[action$="/comments/"] textarea');
    if (!field) return announce(gettext("You cannot write a note for this request."));
    enter(field.closest("details"), field);
  }

  function assign() {
    const field = detailOf().querySelector('form[action$="/assign/"] :is(input:not([type=hidden]), select)');
    const claim = detailOf().querySelector('form[action$="/claim/"] button');
    const control = field ?? claim;
    if (!control) return announce(gettext("You cannot assign this request."));
    enter(control.closest("details"), control);
  }

  /** @param {HTMLElement} row */
  function raw(row) {
    const details = openCardOf(row).querySelector("details.raw");
    if (!details) return announce(gettext("This request has no raw JSON."));
    details.open = !details.open;
    details.querySelector(details.open ? "pre" : "summary").focus();
  }

  /** @param {HTMLElement} row */
  function unfold(row) {
    const card = openCardOf(row), left = window.pausepoint.unfold(card);
    if (window.pausepoint.seen.goToFile(card)) announce(gettext("You have not seen this file. Press Enter to open it."));
    else announce(left ? gettext("Everything is open. Press o again to see more of it.") : gettext("Everything is open, and was in view."));
  }

  /** @param {HTMLElement} row @param {boolean} range */
  function select(row, range) {
    const box = row.querySelector('input[name="pick"]');
    if (!box) return announce(gettext("This request cannot be selected."));
    box.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, shiftKey: range }));
  }

  // With selected requests, a and r open the page that shows what will be decided.
  /** @param {string} key */
  function bulk(key) {
    const picked = list?.querySelector('.inbox-list input[name="pick"]:checked');
    if (!picked) return false;
    const form = document.getElementById("bulk");
    form.requestSubmit(form.querySelector(`button[value="${key === "a" ? "approve" : "reject"}"]`));
    return true;
  }

  /** @type {Record<string, { does(row: HTMLElement): void, first?: string }>} */
  const ACTS = {
    a: { does: (row) => press(row, "a"), first: gettext("Opened. Read it, then press a to approve it.") },
    r: { does: (row) => press(row, "r"), first: gettext("Opened. Read it, then press r to reject it.") },
    A: { does: grant },
    e: { does: edit },
    c: { does: comment },
    n: { does: note },
    m: { does: assign },
    v: { does: raw },
    o: { does: unfold },
  };

  for (const number of "123456789") ACTS[number] = { does: (row) => press(row, number), first: gettext("Opened. Read it, then press the number of an answer.") };

  /** @param {string} key @param {HTMLElement} row */
  function act(key, row) {
    const { does, first } = ACTS[key];
    if (cardOf(row)) return does(row);
    // Keys that decide only open the request at first, so that no one decides what they have not seen.
    open(row, () => { if (first) announce(first); else does(row); });
  }

  // --- If a request has just changed, has just opened by itself or is off screen, the first key only shows it.
  /** @param {HTMLElement | null} row @param {boolean} [reads] @returns {row is HTMLElement} */
  function ready(row, reads = true) {
    const opening = gettext("This request has just opened. Look at it, then press again.");
    if (!row) {
      announce(pane?.current() ? opening : gettext("No request is selected. Press j first."));
      return false;
    }
    if (row.dataset.touched) {
      delete row.dataset.touched;
      row.classList.remove("touched");
      announce(gettext("This request has just changed. Look at it, then press again."));
      return false;
    }
    if (reads && list && isOpen(row) && (!pane.isLoaded() || !pane.isSettled())) {
      announce(opening);
      return false;
    }
    if (!reads) return true;
    const { top, bottom } = row.getBoundingClientRect();
    if (!(list && isOpen(row)) && (bottom < 60 || top > innerHeight - 20)) {
      focusRow(row);
      announce(gettext("The selected request was off screen. Look at it, then press again."));
      return false;
    }
    const sends = (cardOf(row) ?? row).querySelector(".htmx-request") !== null;
    if (sends) announce(gettext("Your last action is still being sent. Wait a moment."));
    return !sends;
  }

  // A card without a row is replaced as a whole and marked as changed; of others, the row is.
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    const fresh = event.detail.fragment.firstElementChild, card = opened();
    if (!card?.matches(".request") || fresh?.id !== card.id) return;
    if (fresh.dataset.version !== card.dataset.version) fresh.dataset.touched = "yes";
  });

  document.addEventListener("keydown", (event) => {
    const { isField, isInMenu, isComposing, keyOf } = window.pausepoint.typing;
    if (!on || event.defaultPrevented || isComposing(event) || event.ctrlKey || event.altKey || event.metaKey) return;
    if (document.querySelector("dialog[open]")) return;
    const row = marked();
    if (isField(event.target)) {
      if (event.key !== "Escape") return;
      event.preventDefault();
      if (list && pane.current() && detailOf().contains(event.target)) detailOf().focus({ preventScroll: true });
      else if (row?.matches(".inbox-row")) focusRow(row);
      else event.target.blur();
      return;
    }
    if (isInMenu(event.target)) return;
    // A key that is held down may move the selection but not decide.
    const key = keyOf(event);
    if (event.repeat && key !== "j" && key !== "k") return;
    if (run(key, row)) event.preventDefault();
  });

  // Keys that lead to a field. What is typed next is text, also where there is no such field or it is still on its way.
  const TO_FIELDS = new Set(["e", "c", "n", "m", "/"]);

  /** @param {string} key @param {HTMLElement | null} row */
  function run(key, row) {
    if (window.pausepoint.going?.()) return false;
    if (TO_FIELDS.has(key)) window.pausepoint.typing.hush();
    if (key === "?") help.showModal();
    else if (key === "u") document.dispatchEvent(new CustomEvent("pausepoint:undo"));
    else if ((key === "a" || key === "r") && bulk(key)) return true;
    else if (key in ACTS) { if (ready(row)) act(key, row); }
    else if (!list) return false;
    else if (key === "j" || key === "k") pane.move(key === "j" ? 1 : -1);
    else if (key === "/") document.getElementById("filter-q").focus();
    else if (key === "x" || key === "X") { if (ready(row, false)) select(row, key === "X"); }
    else if (key === "h") window.pausepoint.snooze?.();
    else if (key === "s" || key === "b") follow(key === "s" ? "sort" : "group");
    else if (key === "Escape" && pane.current()) leave(row);
    else return false;
    return true;
  }

  // The palette decides what is open, whatever the list has selected, by the same rules as a key.
  window.pausepoint.decide = (key) => {
    const row = opened();
    if (ready(row)) act(key, row);
  };

  // Sorts or groups in the next way.
  /** @param {string} name */
  function follow(name) {
    const link = list?.querySelector(`a[data-following="${name}"]`);
    if (link) link.click();
    else announce(gettext("This list cannot be sorted."));
  }

  // From the request to its row; in one column, back to the list.
  /** @param {HTMLElement | null} row */
  function leave(row) {
    if (pane.isSplit() && row?.matches(".inbox-row") && detailOf().contains(document.activeElement)) focusRow(row);
    else pane.close();
  }
})();
