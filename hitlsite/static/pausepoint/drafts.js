// Drafts: what someone types for a request stays in their browser until it is sent, also if they leave the page, and if
// someone else decides the request meanwhile.
(() => {
  "use strict";

  const { person } = document.body.dataset;
  if (!person) return;
  const STORED = `pausepoint.drafts.${person}`, MOST = 50, DAYS = 14, LONGEST = 50_000;
  const NEVER = new Set(["typed_name", "to"]);
  /** @typedef {{ at: number, fields: Record<string, string> }} Draft */
  /** @typedef {HTMLInputElement | HTMLTextAreaElement} Field */
  /** @typedef {{ id: string, value: string, text: string, caret: number[] | null, files: FileList | null }} Typed */
  /** @param {string} words @param {Record<string, unknown>} values */
  const say = (words, values) => interpolate(words, values, true);

  // --- Stored by request, then by form and field.
  /** @returns {Record<string, Draft>} */
  function read() {
    try { return JSON.parse(localStorage.getItem(STORED)) ?? {}; } catch { return {}; }
  }
  /** @param {Record<string, Draft>} all */
  function write(all) {
    const oldest = Date.now() - DAYS * 86_400_000;
    const recent = Object.entries(all).filter(([, draft]) => draft.at > oldest && Object.keys(draft.fields).length);
    recent.sort(([, one], [, other]) => other.at - one.at);
    try { localStorage.setItem(STORED, JSON.stringify(Object.fromEntries(recent.slice(0, MOST)))); } catch { /* Full or forbidden. */ }
  }

  /** @param {string} id @param {(fields: Record<string, string>) => void} act */
  function change(id, act) {
    const all = read(), draft = all[id] ?? { fields: {} };
    act(draft.fields);
    write({ ...all, [id]: { ...draft, at: Date.now() } });
  }

  // --- Which request a field belongs to, and its name within it.
  /** @param {Element} element */
  function requestOf(element) {
    const shown = element.closest(".request, #notes");
    if (!shown) return undefined;
    return shown.id === "notes" ? shown.dataset.version : shown.id.replace("request-", "");
  }
  /** @param {Field} field */
  const isText = (field) => field.matches("textarea[name], input[name]:is([type=text], [type=email], [type=url], :not([type]))") && !NEVER.has(field.name) && !field.readOnly && !("secret" in field.dataset);
  /** @param {Field} field */
  const nameOf = (field) => `${field.closest("#notes") ? "note" : field.form?.closest("details.edit") ? "edit" : "card"} ${field.id.replace(/[0-9a-f-]{36}/, "")} ${field.name}`;
  // Those of the notes stay in the page when the card around them is replaced, so they are no part of it.
  /** @param {ParentNode} root */
  const texts = (root) => [...root.querySelectorAll("textarea, input")].filter((field) => isText(field) && !(root instanceof Element && root.matches(".request") && field.closest("#notes")));

  document.addEventListener("input", (event) => {
    const field = event.target, id = isText(field) && requestOf(field);
    if (!id) return;
    change(id, (fields) => {
      if (field.value === field.defaultValue || field.value.length > LONGEST) delete fields[nameOf(field)];
      else fields[nameOf(field)] = field.value;
    });
  });

  /** @param {HTMLElement} shown */
  function restore(shown) {
    const id = requestOf(shown), draft = id && read()[id];
    if (!draft || id === answered || shown.matches(".request:not(.is-pending)")) return;
    /** @param {Field} field @param {string} text */
    const isOlder = (field, text) => text !== undefined && text !== field.value && field.value === field.defaultValue;
    const found = texts(shown).filter((field) => isOlder(field, draft.fields[nameOf(field)]));
    for (const field of found) field.value = draft.fields[nameOf(field)];
    for (const form of new Set(found.map((field) => field.form))) if (form) addNote(form, id);
  }

  /** @param {HTMLFormElement} form @param {string} id */
  function addNote(form, id) {
    if (form.querySelector(".draft-note")) return;
    const line = document.createElement("p"), drop = document.createElement("button");
    line.className = "draft-note hint";
    line.textContent = `${gettext("Restored what you typed before.")} `;
    drop.type = "button";
    drop.className = "quiet";
    drop.textContent = gettext("Discard");
    drop.addEventListener("click", () => {
      for (const field of texts(form)) {
        field.value = field.defaultValue;
        change(id, (fields) => { delete fields[nameOf(field)]; });
      }
      line.remove();
    });
    line.append(drop);
    (form.querySelector(".message") ?? form).append(line);
  }

  // --- What was sent is no longer a draft. A refusal keeps it, and so does a review, which has sent nothing yet.
  /** @type {Set<string>} */
  const sent = new Set();
  /** @type {string | undefined} */
  let answered;
  document.addEventListener("submit", (event) => {
    const id = event.target.matches?.("[data-decides]") && requestOf(event.target);
    if (id) sent.add(id);
  }, true);
  // This one is sent only after a confirmation.
  document.addEventListener("htmx:beforeSend", ({ detail }) => {
    const id = detail.elt.matches?.(".break-glass form") && requestOf(detail.elt);
    if (id) sent.add(id);
  });
  document.addEventListener("htmx:beforeSwap", (event) => {
    const form = event.detail.requestConfig.elt, id = form.matches?.("form") && requestOf(form);
    if (!id) return;
    // A refused form comes back with what was typed.
    answered = id;
    setTimeout(() => { answered = undefined; });
    if (event.detail.xhr.status >= 400) sent.delete(id);
    else if (form.matches("[data-decides], .break-glass form")) forget(id);
    else if (form.closest("#notes")) change(id, (fields) => { for (const field of texts(form)) delete fields[nameOf(field)]; });
  });
  document.addEventListener("pausepoint:stored", ({ detail }) => forget(detail.id));
  for (const name of /** @type {const} */ (["pausepoint:undone", "pausepoint:refused"])) {
    document.addEventListener(name, ({ detail }) => sent.delete(detail.id));
  }
  // Notes are not sent with a decision.
  /** @param {string} id */
  function forget(id) {
    change(id, (fields) => { for (const name of Object.keys(fields)) if (!name.startsWith("note ")) delete fields[name]; });
  }

  // --- A push replaces a card in which someone is typing: what they typed goes on in the same field of the new card. If the
  // request has ended, it stays in a field below the card, and can be used as a note. The caret stays where it was.
  document.addEventListener("htmx:oobBeforeSwap", ({ detail }) => {
    if (!detail.shouldSwap) return;
    for (const shown of [detail.target, ...detail.target.querySelectorAll(".request")]) {
      if (shown.matches(".request.is-pending")) keep(shown);
    }
  });

  // The chosen files, which no text stands for.
  /** @param {Field} field */
  const filesOf = (field) => ("files" in field && field.files?.length ? field.files : null);

  /** @param {HTMLElement} shown */
  function keep(shown) {
    const id = /** @type {string} */ (requestOf(shown)), active = document.activeElement;
    /** @param {Field} field */
    const isDraft = (field) => isText(field) && !sent.has(id) && field.value.trim() && field.value !== field.defaultValue;
    /** @param {Field} field */
    const isKept = (field) => isDraft(field) || filesOf(field) !== null || (field === active && (isText(field) || NEVER.has(field.name)));
    const kept = [...shown.querySelectorAll("textarea, input")].filter(isKept).map((field) => ({
      id: field.id, value: field.value, text: field.value === field.defaultValue || filesOf(field) ? "" : field.value,
      files: filesOf(field),
      caret: field === active && !filesOf(field) ? [field.selectionStart, field.selectionEnd].map((place) => place ?? field.value.length) : null,
    }));
    if (kept.length) queueMicrotask(() => goOn(id, kept));
  }

  /** @param {string} id @param {Typed[]} kept */
  function goOn(id, kept) {
    const ended = kept.filter((typed) => !restoreField(typed));
    const texts = ended.map(({ text }) => text).filter((text, index, all) => text.trim() && all.indexOf(text) === index);
    const text = texts.join("\n\n"), last = ended.find(({ caret }) => caret);
    const start = last ? Math.max(0, text.indexOf(last.text)) : 0;
    if (ended.length) showKept(id, text, last?.caret?.map((place) => start + Math.min(place, last.text.length)));
  }

  // Returns whether the new card has the field.
  /** @param {Typed} typed */
  function restoreField({ id, value, caret, files }) {
    const field = /** @type {Field | null} */ (document.getElementById(id));
    if (!field) return false;
    if (files) /** @type {HTMLInputElement} */ (field).files = files;
    else field.value = value;
    if (caret) focusAt(field, caret);
    return true;
  }
  /** @param {Field} field @param {number[]} caret */
  function focusAt(field, [start, end]) {
    const details = field.closest("details");
    if (details) details.open = true;
    field.focus({ preventScroll: true });
    // Fields for numbers and addresses have no caret that a script may place.
    if (field.selectionStart !== null) field.setSelectionRange(start, end);
    field.scrollIntoView({ block: "nearest" });
  }

  /** @param {string} id @param {string} text @param {number[]} [caret] */
  function showKept(id, text, caret) {
    const shown = document.getElementById(`request-${id}`), before = document.getElementById(`kept-${id}`);
    if (!shown || !(text.trim() || caret) || (before && !caret)) return;
    before?.remove();
    const box = document.createElement("div"), words = document.createElement("p"), field = document.createElement("textarea");
    box.id = `kept-${id}`;
    box.className = "kept-text";
    const what = shown.querySelector(".badge[class*=status-]")?.textContent.trim().toLowerCase() ?? "";
    words.textContent = wordsFor(shown, what);
    words.setAttribute("role", "alert");
    field.value = text;
    field.setAttribute("aria-label", gettext("What you typed"));
    field.addEventListener("input", () => {
      forget(id);
      change(id, (fields) => { fields.kept = field.value; });
    });
    box.append(words, field, ...buttons(id, field, box));
    shown.after(box);
    if (!caret) return;
    focusAt(field, caret);
    // Nothing was typed, and nothing will be.
    field.addEventListener("blur", () => { if (!field.value.trim() && field !== document.activeElement) box.remove(); });
  }

  /** @param {HTMLElement} shown @param {string} what */
  function wordsFor(shown, what) {
    if (!what) return gettext("You can no longer see this request. What you typed is kept.");
    if (shown.matches(".is-expired")) return gettext("This expired while you were typing. What you typed is kept.");
    return say(gettext("This was %(what)s while you were typing. What you typed is kept."), { what });
  }

  /** @param {string} id @param {Field} field @param {HTMLElement} box */
  function buttons(id, field, box) {
    const use = document.createElement("button"), drop = document.createElement("button");
    for (const button of [use, drop]) button.type = "button";
    use.textContent = gettext("Use as internal note");
    drop.textContent = gettext("Discard");
    // The notes of this request: the page may hold those of others. A push replaces them, so they are looked for again.
    const noteOf = () => document.getElementById(`request-${id}`)?.closest("#request-detail, [data-kept]")?.querySelector("#notes textarea[name=text]");
    use.hidden = !noteOf();
    use.addEventListener("click", () => {
      const note = noteOf();
      if (!note) return;
      note.value = [note.value, field.value.trim()].filter(Boolean).join("\n\n");
      note.dispatchEvent(new Event("input", { bubbles: true }));
      window.pausepoint.reveal(note);
      note.focus();
      end();
    });
    drop.addEventListener("click", end);
    function end() {
      forget(id);
      box.remove();
    }
    return [use, drop];
  }

  // The same on a later visit: the request was decided, and a text for it was never sent.
  /** @param {HTMLElement} shown */
  function remind(shown) {
    const id = requestOf(shown), draft = id && read()[id];
    if (!draft || sent.has(id) || !shown.matches(".request:not(.is-pending)") || !shown.closest("#request-detail")) return;
    const kept = Object.entries(draft.fields).filter(([name]) => !name.startsWith("note ")).map(([, value]) => value);
    showKept(id, [...new Set(kept)].join("\n\n"));
  }

  /** @param {ParentNode} root */
  function ready(root) {
    for (const shown of root.querySelectorAll(".request, #notes")) {
      restore(shown);
      remind(shown);
    }
  }
  document.addEventListener("DOMContentLoaded", () => ready(document));
  document.addEventListener("htmx:load", (event) => ready(event.detail.elt.parentElement ?? document));

  // --- A prepared message fills the field of the message to the agent.
  document.addEventListener("click", (event) => {
    const offer = event.target.closest?.("[data-fill]"), field = offer && /** @type {Field | null} */ (document.getElementById(offer.dataset.fill));
    if (!field) return;
    field.value = offer.dataset.text;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    field.focus();
  });
})();
