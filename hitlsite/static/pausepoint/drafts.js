// Drafts: what somebody types for a request stays in their browser until it is sent, also if they leave the page, and if
// somebody else decides the request meanwhile.
(function () {
  "use strict";

  const { person } = document.body.dataset;
  if (!person) return;
  const STORED = `pausepoint.drafts.${person}`, MOST = 50, DAYS = 14, LONGEST = 50_000;
  const NEVER = new Set(["typed_name", "to"]);
  const say = (words, values) => interpolate(words, values, true);

  // --- Stored by request, then by form and field.
  function read() {
    try { return JSON.parse(localStorage.getItem(STORED)) ?? {}; } catch { return {}; }
  }
  function write(all) {
    const oldest = Date.now() - DAYS * 86_400_000;
    const recent = Object.entries(all).filter(([, draft]) => draft.at > oldest && Object.keys(draft.fields).length);
    recent.sort(([, one], [, other]) => other.at - one.at);
    try { localStorage.setItem(STORED, JSON.stringify(Object.fromEntries(recent.slice(0, MOST)))); } catch { /* Full or forbidden. */ }
  }

  function change(id, act) {
    const all = read(), draft = all[id] ?? { fields: {} };
    act(draft.fields);
    write({ ...all, [id]: { ...draft, at: Date.now() } });
  }

  // --- Which request a field belongs to, and its name within it.
  function requestOf(element) {
    const shown = element.closest(".request, #notes");
    if (!shown) return undefined;
    return shown.id === "notes" ? shown.dataset.version : shown.id.replace("request-", "");
  }
  const isText = (field) => field.matches("textarea[name], input[name]:is([type=text], [type=email], [type=url], :not([type]))") && !NEVER.has(field.name) && !field.readOnly;
  const nameOf = (field) => `${field.closest("#notes") ? "note" : field.form?.closest("details.edit") ? "edit" : "card"} ${field.id.replace(/[0-9a-f-]{36}/, "")} ${field.name}`;
  const texts = (root) => [...root.querySelectorAll("textarea, input")].filter(isText);

  document.addEventListener("input", (event) => {
    const field = event.target, id = isText(field) && requestOf(field);
    if (!id) return;
    change(id, (fields) => {
      if (field.value === field.defaultValue || field.value.length > LONGEST) delete fields[nameOf(field)];
      else fields[nameOf(field)] = field.value;
    });
  });

  function restore(shown) {
    const id = requestOf(shown), draft = id && read()[id];
    if (!draft || id === answered || shown.matches(".request:not(.is-pending)")) return;
    const isOlder = (field, text) => text !== undefined && text !== field.value && field.value === field.defaultValue;
    const found = texts(shown).filter((field) => isOlder(field, draft.fields[nameOf(field)]));
    for (const field of found) field.value = draft.fields[nameOf(field)];
    for (const form of new Set(found.map((field) => field.form))) if (form) addNote(form, id);
  }

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

  // --- What was sent is no draft any more. A refusal keeps it, and so does a review, which has sent nothing yet.
  const sent = new Set();
  let answered;
  document.addEventListener("submit", (event) => {
    const id = event.target.matches?.("[data-decides]") && requestOf(event.target);
    if (id) sent.add(id);
  }, true);
  document.addEventListener("htmx:beforeSwap", (event) => {
    const form = event.detail.requestConfig.elt, id = form.matches?.("form") && requestOf(form);
    if (!id) return;
    // A refused form comes back with what was typed.
    answered = id;
    setTimeout(() => { answered = undefined; });
    if (event.detail.xhr.status >= 400) sent.delete(id);
    else if (form.matches("[data-decides]")) forget(id);
    else if (form.closest("#notes")) change(id, (fields) => { for (const field of texts(form)) delete fields[nameOf(field)]; });
  });
  document.addEventListener("pausepoint:stored", ({ detail }) => forget(detail.id));
  for (const name of ["pausepoint:undone", "pausepoint:refused"]) {
    document.addEventListener(name, ({ detail }) => sent.delete(detail.id));
  }
  // Notes are not sent with a decision.
  function forget(id) {
    change(id, (fields) => { for (const name of Object.keys(fields)) if (!name.startsWith("note ")) delete fields[name]; });
  }

  // --- Somebody else decided while this person was typing: the text stays, and can be used as a note.
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    const shown = event.detail.target, fresh = event.detail.fragment.firstElementChild;
    if (!fresh || fresh.id !== shown.id || !shown.matches(".request.is-pending") || fresh.matches(".is-pending")) return;
    const id = requestOf(shown), kept = texts(shown).filter((field) => field.value.trim() && field.value !== field.defaultValue);
    if (!kept.length || sent.has(id)) return;
    const text = kept.map((field) => field.value).filter((value, index, all) => all.indexOf(value) === index).join("\n\n");
    queueMicrotask(() => showKept(id, text));
  });

  function showKept(id, text) {
    const shown = document.getElementById(`request-${id}`);
    if (!shown || !text.trim() || shown.querySelector(".kept-text")) return;
    const box = document.createElement("div"), words = document.createElement("p"), field = document.createElement("textarea");
    box.className = "kept-text";
    box.setAttribute("role", "alert");
    const what = shown.querySelector(".badge[class*=status-]")?.textContent.trim().toLowerCase() ?? "";
    words.textContent = say(gettext("This was %(what)s while you were typing. Your note is kept."), { what });
    field.readOnly = true;
    field.value = text;
    field.setAttribute("aria-label", gettext("What you typed"));
    box.append(words, field, ...buttons(id, text, shown, box));
    shown.append(box);
  }

  function buttons(id, text, shown, box) {
    const use = document.createElement("button"), drop = document.createElement("button");
    for (const button of [use, drop]) button.type = "button";
    use.textContent = gettext("Use as internal note");
    drop.textContent = gettext("Discard");
    // The notes of this request: the page may hold those of others. A push replaces them, so they are looked for again.
    const noteOf = () => shown.closest("#request-detail, [data-kept]")?.querySelector("#notes textarea[name=text]");
    use.hidden = !noteOf();
    use.addEventListener("click", () => {
      const note = noteOf();
      if (!note) return;
      note.value = [note.value, text].filter(Boolean).join("\n\n");
      note.dispatchEvent(new Event("input", { bubbles: true }));
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
  function remind(shown) {
    const id = requestOf(shown), draft = id && read()[id];
    if (!draft || sent.has(id) || !shown.matches(".request:not(.is-pending)") || !shown.closest("#request-detail")) return;
    const kept = Object.entries(draft.fields).filter(([name]) => !name.startsWith("note ")).map(([, value]) => value);
    showKept(id, [...new Set(kept)].join("\n\n"));
  }

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
    const offer = event.target.closest?.("[data-fill]"), field = offer && document.getElementById(offer.dataset.fill);
    if (!field) return;
    field.value = offer.dataset.text;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    field.focus();
  });
})();
