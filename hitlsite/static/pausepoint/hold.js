// Undo. If a person holds their decisions for some seconds (a setting of theirs), the page keeps each one that long before it
// sends it. The server knows nothing of it: what is stored is final. Critical requests are never held.
(function () {
  "use strict";

  const { holdSeconds, person } = document.body.dataset;
  const STORED = `pausepoint.held.${person}`, FRESH = 60_000, SENDING = 8_000;
  const held = new Map();

  const card = (id) => document.getElementById(`request-${id}`);
  const announce = (words) => { const place = document.getElementById("announcements"); if (place) place.textContent = words; };
  const tell = (name, id) => document.dispatchEvent(new CustomEvent(name, { detail: { id } }));
  const say = (words, values) => interpolate(words, values, true);

  // --- What is kept in this browser until the server has confirmed it.
  function stored() {
    try { return JSON.parse(localStorage.getItem(STORED)) ?? {}; } catch { return {}; }
  }
  function store(entry) {
    try { localStorage.setItem(STORED, JSON.stringify({ ...stored(), [entry.id]: entry })); } catch { /* The page still sends it. */ }
  }
  function forget(id) {
    const { [id]: _sent, ...rest } = stored();
    try { localStorage.setItem(STORED, JSON.stringify(rest)); } catch { /* As above. */ }
  }

  // --- A decision is held instead of sent. It runs before htmx, and after the script that notes which parts were opened.
  document.addEventListener("submit", (event) => {
    const form = event.target, shown = form.closest?.(".request");
    if (!shown || !form.matches("[data-decides]") || event.defaultPrevented) return;
    const id = shown.id.replace("request-", "");
    if (held.has(id)) return stop(event);
    if (!Number(holdSeconds) || shown.matches(".urgency-critical")) return;
    stop(event);
    const data = new URLSearchParams(new FormData(form, event.submitter));
    data.set("held", "yes");
    // The token of the page that sends it goes with it as a header: this one ends with the session.
    data.delete("csrfmiddlewaretoken");
    hold({ id, action: form.getAttribute("action"), body: data.toString(), title: titleOf(id, shown), words: wordsOf(event.submitter), at: Date.now() });
  }, true);

  function stop(event) {
    event.preventDefault();
    event.stopImmediatePropagation();
  }
  function titleOf(id, shown) {
    return shown.querySelector(`#request-title-${CSS.escape(id)}`)?.textContent.trim() ?? "";
  }
  function pageOf({ action }) {
    return action.replace(/decide\/$/, "");
  }
  function wordsOf(button) {
    return (button?.querySelector("b") ?? button)?.textContent.trim().replace(/\s+/g, " ") ?? "";
  }

  function hold(entry) {
    const until = Date.now() + Number(holdSeconds) * 1000;
    const line = addLine(entry.id, `${entry.words}: ${entry.title}`);
    const left = document.createElement("span"), undo = document.createElement("button");
    left.className = "toast-left";
    left.setAttribute("aria-hidden", "true");
    undo.type = "button";
    undo.textContent = gettext("Undo");
    undo.addEventListener("click", () => takeBack(entry.id));
    line.append(left, undo);
    const tick = () => {
      const seconds = Math.max(0, Math.ceil((until - Date.now()) / 1000));
      left.textContent = say(ngettext("%(count)s second", "%(count)s seconds", seconds), { count: seconds });
      if (Date.now() >= until) send(entry.id);
    };
    held.set(entry.id, { entry, timer: setInterval(tick, 250) });
    tick();
    mark(entry.id, true);
    store(entry);
    announce(say(gettext("%(words)s: held for %(count)s seconds. Press u to undo."), { words: entry.words, count: holdSeconds }));
    tell("pausepoint:decided", entry.id);
  }

  // The forms of a held request cannot be used.
  function mark(id, on) {
    const shown = card(id);
    if (!shown) return;
    shown.toggleAttribute("data-held", on);
    for (const part of shown.querySelectorAll("form")) part.inert = on;
  }

  function release(id) {
    const found = held.get(id);
    if (!found) return undefined;
    clearInterval(found.timer);
    held.delete(id);
    mark(id, false);
    return found.entry;
  }

  function takeBack(id) {
    const entry = release(id);
    if (!entry) return;
    forget(id);
    endLine(id, say(gettext("Undone. Nothing was sent: %(title)s"), { title: entry.title }), { link: pageOf(entry), brief: true });
    tell("pausepoint:undone", id);
    (card(id)?.querySelector(".decision-bar button") ?? document.getElementById("main")).focus({ preventScroll: true });
  }
  document.addEventListener("pausepoint:undo", () => {
    const last = [...held.keys()].at(-1);
    if (last) takeBack(last);
    else announce(gettext("There is nothing to undo."));
  });

  // --- Sending; returns whether it was stored. A decision that arrives twice is stored once, so sending again is safe.
  async function send(id) {
    const entry = release(id) ?? stored()[id];
    if (!entry) return false;
    store({ ...entry, sending: true });
    let answer;
    try {
      answer = await post(entry, AbortSignal.timeout(SENDING));
    } catch {
      return unsent(entry);
    }
    return settle(entry, answer);
  }

  function post({ action, body }, signal) {
    const headers = { "HX-Request": "true", "Content-Type": "application/x-www-form-urlencoded", Accept: "text/html", ...JSON.parse(document.body.getAttribute("hx-headers") ?? "{}") };
    return fetch(action, { method: "POST", body, headers, keepalive: body.length < 60_000, signal, redirect: "manual" });
  }

  async function settle(entry, answer) {
    const text = await answer.text();
    const answered = text.includes(`id="request-${entry.id}"`) || answer.status === 404;
    // Logged out, too many requests, or an error of the server: the decision was not looked at.
    if (!answered) return unsent(entry);
    forget(entry.id);
    tell(answer.ok ? "pausepoint:stored" : "pausepoint:refused", entry.id);
    const shown = card(entry.id);
    if (shown && answer.status !== 404) htmx.swap(shown, text, { swapStyle: "outerHTML" });
    if (answer.ok) {
      endLine(entry.id, `${entry.words}: ${entry.title}`, { brief: true, done: true });
      return true;
    }
    const parts = new DOMParser().parseFromString(text, "text/html");
    const reason = parts.querySelector(".refusal p, .problem p, p")?.textContent.trim() ?? "";
    const words = say(gettext("Not stored: %(title)s. %(reason)s"), { title: entry.title, reason });
    endLine(entry.id, words, { link: pageOf(entry), alert: true });
    return false;
  }

  function unsent(entry) {
    store({ ...entry, sending: false, failed: true });
    offer(entry, say(gettext("Your decision was not sent: %(words)s, %(title)s."), entry));
    return false;
  }
  function offer(entry, words) {
    const line = endLine(entry.id, words, { alert: true, stays: true });
    const again = document.createElement("button"), drop = document.createElement("button");
    for (const button of [again, drop]) button.type = "button";
    again.textContent = gettext("Send now");
    drop.textContent = gettext("Discard");
    again.addEventListener("click", () => send(entry.id));
    drop.addEventListener("click", () => { forget(entry.id); line.remove(); });
    line.append(again, drop);
  }

  // When the page is left, what is held is sent at once; the next page confirms it.
  addEventListener("pagehide", () => {
    for (const id of [...held.keys()]) {
      const entry = release(id);
      store({ ...entry, sending: true });
      post(entry).then((answer) => { if (answer.ok) forget(id); }, () => {});
    }
  });
  // A log-out waits for them, because nothing can be sent after it. If one was not stored, this page stays and says so.
  document.addEventListener("submit", (event) => {
    if (!event.target.matches?.("form[data-logout]") || !held.size) return;
    stop(event);
    const ids = [...held.keys()];
    Promise.all(ids.map(send)).then((sent) => { if (sent.every(Boolean)) event.target.requestSubmit(); });
  }, true);
  function resume() {
    for (const entry of Object.values(stored())) {
      if (held.has(entry.id)) continue;
      // Another page of this browser may be about to send it.
      const age = Date.now() - entry.at;
      if (age < FRESH && entry.sending) send(entry.id);
      else if (entry.sending) lookUp(entry);
      else if (age >= FRESH || entry.failed) offerEarlier(entry);
    }
  }
  function offerEarlier(entry) {
    offer(entry, say(gettext("A decision from an earlier visit was not sent: %(words)s, %(title)s."), entry));
  }

  // It was sent while its page was left, so no page knows whether it arrived. Too long ago to send it again unasked.
  async function lookUp(entry) {
    const answer = await fetch(pageOf(entry), { headers: { Accept: "text/html" } }).catch(() => undefined);
    const page = answer && new DOMParser().parseFromString(await answer.text(), "text/html");
    const outcome = page?.querySelector(`[id="request-${entry.id}"]:not(.is-pending) .outcome p`);
    if (!outcome) return offerEarlier(entry);
    forget(entry.id);
    const words = `${entry.title}: ${outcome.textContent.trim().replace(/\s+/g, " ")}`;
    endLine(entry.id, words, { brief: true, done: true, link: pageOf(entry) });
  }

  // --- Somebody else was faster: their decision stands, and the held one is not sent.
  function notice() {
    for (const [id, { entry }] of held) {
      const shown = card(id);
      if (shown && !shown.matches(".is-pending")) {
        release(id);
        forget(id);
        tell("pausepoint:refused", id);
        const outcome = shown.querySelector(".outcome p")?.textContent.trim().replace(/\s+/g, " ") ?? "";
        const words = say(gettext("Somebody else was faster: %(outcome)s Your decision was not sent: %(title)s"), { outcome, title: entry.title });
        endLine(id, words, { link: pageOf(entry), alert: true });
      } else mark(id, true);
    }
  }
  for (const name of ["htmx:wsAfterMessage", "htmx:afterSettle", "htmx:load"]) document.addEventListener(name, notice);

  // --- The lines at the edge of the window.
  function area() {
    let found = document.getElementById("holds");
    if (!found) {
      found = document.createElement("section");
      found.id = "holds";
      found.setAttribute("aria-label", gettext("Your decisions"));
      document.body.append(found);
    }
    return found;
  }
  function addLine(id, words) {
    document.getElementById(`hold-${id}`)?.remove();
    const line = document.createElement("div"), text = document.createElement("p");
    line.id = `hold-${id}`;
    line.className = "toast";
    text.textContent = words;
    line.append(text);
    area().append(line);
    return line;
  }
  function endLine(id, words, { brief, link, alert, done, stays } = {}) {
    const line = addLine(id, words);
    if (alert) line.setAttribute("role", "alert");
    line.classList.toggle("toast-alert", Boolean(alert));
    line.classList.toggle("toast-done", Boolean(done));
    if (link && !card(id)) {
      const open = document.createElement("a");
      open.href = link;
      open.textContent = gettext("Open it");
      line.append(open);
    }
    if (alert && !stays) {
      const close = document.createElement("button");
      close.type = "button";
      close.textContent = gettext("Close");
      close.addEventListener("click", () => line.remove());
      line.append(close);
    }
    if (brief) {
      announce(words);
      setTimeout(() => line.remove(), 5000);
    }
    return line;
  }

  // --- Decisions that are sent at once are announced to the page, too.
  document.addEventListener("htmx:afterRequest", (event) => {
    const form = event.detail.elt;
    if (!form.matches?.("form[data-decides]") || !event.detail.successful) return;
    const id = form.getAttribute("action").split("/").at(-3);
    if (id) tell("pausepoint:decided", id);
  });

  if (person) document.addEventListener("DOMContentLoaded", resume);
})();
