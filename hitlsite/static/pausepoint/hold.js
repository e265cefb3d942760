// Undo. If a person holds their decisions for some seconds (a setting of theirs), the page keeps each one that long before it
// sends it. The server knows nothing of it: what is stored is final. Critical requests and forms with a field for a file are never held.
// The states of a decision: docs/decisions/deciding.md, "A held decision has four states".
(() => {
  "use strict";

  /**
   * @typedef {object} Entry a decision that this person holds, as it is stored
   * @property {string} key
   * @property {string} id of the request
   * @property {string} action
   * @property {string} body
   * @property {string} title
   * @property {string} words of the button
   * @property {"held" | "sent" | "unsent"} state
   * @property {number} until
   * @property {number} sentAt
   * @property {boolean} [left] whether its page was left
   * @property {string} [votedAt] when this person's earlier vote on the request was stored, as its card said
   */
  const { holdSeconds, person } = document.body.dataset;
  const STORED = `pausepoint.held.${person}`;
  // Seconds: until a slow answer is called unknown; between two looks; until the server has given up every attempt; and until
  // the page of a decision that it should have sent is gone.
  const SLOW = 5, LOOK = 2, OVER = 60, GONE = 5;
  // The decisions that this page takes care of, their timers, and which of them were made here.
  /** @type {Map<string, Entry>} */
  const own = new Map();
  /** @type {Map<string, number>} */
  const timers = new Map();
  /** @type {Set<string>} */
  const made = new Set();

  const { show: showToast, makeButton } = window.pausepoint.toasts;
  /** @param {string} id */
  const card = (id) => document.getElementById(`request-${id}`);
  /** @param {string} words */
  const announce = (words) => { const place = document.getElementById("announcements"); if (place) place.textContent = words; };
  /** @param {string} name @param {string} id */
  const tell = (name, id) => document.dispatchEvent(new CustomEvent(name, { detail: { id } }));
  /** @param {string} words @param {Record<string, unknown>} values */
  const say = (words, values) => interpolate(words, values, true);
  /** @param {number} moment */
  const age = (moment) => (Date.now() - moment) / 1000;

  // --- Kept in this browser until the outcome is known, by decision and not by request: two tabs may hold one each.
  /** @returns {Record<string, Entry>} */
  function stored() {
    try { return JSON.parse(localStorage.getItem(STORED)) ?? {}; } catch { return {}; }
  }
  /** @param {Record<string, Entry>} all */
  function write(all) {
    try { localStorage.setItem(STORED, JSON.stringify(all)); } catch { /* The page still sends it. */ }
  }
  // A log-out in another tab has erased it: nothing comes back after that.
  /** @param {Entry} entry @param {Record<string, unknown>} values */
  function change(entry, values) {
    Object.assign(entry, values);
    const all = stored();
    if (entry.key in all) write({ ...all, [entry.key]: entry });
  }
  /** @param {Entry} entry */
  function forget({ key, id }) {
    clearInterval(timers.get(key));
    timers.delete(key);
    own.delete(key);
    mark(id, false);
    const { [key]: _known, ...rest } = stored();
    write(rest);
  }

  // --- Held: instead of sent. This runs before htmx, and after the script that notes which parts were opened.
  document.addEventListener("submit", (event) => {
    const form = event.target, shown = form.closest?.(".request");
    if (!shown || !form.matches("[data-decides]") || event.defaultPrevented) return;
    const id = shown.id.replace("request-", "");
    if ([...own.values()].some((entry) => entry.id === id && entry.state !== "unsent")) return stop(event);
    // A file cannot be kept in the browser.
    if (!Number(holdSeconds) || shown.matches(".urgency-critical") || form.enctype === "multipart/form-data") return;
    stop(event);
    const data = new URLSearchParams(/** @type {string[][]} */ ([...new FormData(form, event.submitter)]));
    data.set("held", "yes");
    // The token of the page that sends it goes with it as a header: this one ends with the session.
    data.delete("csrfmiddlewaretoken");
    const title = shown.querySelector(`#request-title-${CSS.escape(id)}`)?.textContent.trim() ?? "";
    const words = (event.submitter?.querySelector("b") ?? event.submitter)?.textContent.trim().replace(/\s+/g, " ") ?? "";
    const key = crypto.getRandomValues(new Uint32Array(2)).join("-"), action = form.getAttribute("action");
    hold(/** @type {Entry} */ ({ key, id, action, body: data.toString(), title, words, votedAt: ownVote(shown)?.at ?? "" }));
  }, true);

  /** @param {Event} event */
  function stop(event) {
    event.preventDefault();
    event.stopImmediatePropagation();
  }
  /** @param {Pick<Entry, "action">} entry */
  const pageOf = ({ action }) => action.replace(/decide\/$/, "");

  /** @param {Entry} entry */
  function hold(entry) {
    Object.assign(entry, { state: "held", until: Date.now() + Number(holdSeconds) * 1000 });
    write({ ...stored(), [entry.key]: entry });
    own.set(entry.key, entry);
    made.add(entry.key);
    const line = showLine(entry, `${entry.words}: ${entry.title}`), left = document.createElement("span");
    left.className = "toast-left";
    left.setAttribute("aria-hidden", "true");
    line.append(left, makeButton(gettext("Undo"), () => takeBack(entry)));
    const tick = () => {
      const seconds = Math.max(0, Math.ceil(-age(entry.until)));
      left.textContent = say(ngettext("%(count)s second", "%(count)s seconds", seconds), { count: seconds });
      if (seconds === 0) send(entry);
    };
    timers.set(entry.key, setInterval(tick, 250));
    tick();
    mark(entry.id, true);
    announce(say(gettext("%(words)s: held for %(count)s seconds. Press u to undo."), { words: entry.words, count: holdSeconds }));
    tell("pausepoint:decided", entry.id);
  }

  // The forms of a held request cannot be used, and its row in the list does not look as if it were waiting.
  /** @param {string} id @param {boolean} on */
  function mark(id, on) {
    document.getElementById(`row-${id}`)?.toggleAttribute("data-held", on);
    const shown = card(id);
    if (!shown) return;
    shown.toggleAttribute("data-held", on);
    for (const form of shown.querySelectorAll("form:not(.slot-about form)")) form.inert = on;
  }

  /** @param {Entry} entry */
  function takeBack(entry) {
    forget(entry);
    endLine(entry, say(gettext("Undone. Nothing was sent: %(title)s"), entry), { brief: true });
    tell("pausepoint:undone", entry.id);
    // Not on a button: whoever goes on pressing Enter would decide again.
    (document.getElementById("detail-body") ?? document.getElementById("main")).focus({ preventScroll: true });
  }
  document.addEventListener("pausepoint:undo", () => {
    const last = [...own.values()].filter(({ state }) => state === "held").at(-1);
    if (last) takeBack(last);
    else announce(gettext("There is nothing to undo."));
  });

  // --- Sent: a slow or a broken answer says nothing about arrival. A decision that arrives twice is stored once.
  /** @param {Entry} entry */
  async function send(entry) {
    clearInterval(timers.get(entry.key));
    change(entry, { state: "sent", sentAt: Date.now() });
    showLine(entry, say(gettext("Sending: %(words)s, %(title)s"), entry));
    timers.set(entry.key, setTimeout(() => showUnknown(entry), SLOW * 1000));
    let response, text;
    try {
      response = await post(entry);
      text = await response.text();
    } catch {
      return lookUp(entry);
    }
    // Another attempt, or a look, may have settled it.
    return own.has(entry.key) ? settle(entry, response, text) : response.ok;
  }
  /** @param {Entry} entry */
  function post({ action, body }) {
    const headers = { "HX-Request": "true", "Content-Type": "application/x-www-form-urlencoded", Accept: "text/html", ...JSON.parse(document.body.getAttribute("hx-headers") ?? "{}") };
    return fetch(action, { method: "POST", body, headers, keepalive: body.length < 60_000, redirect: "manual" });
  }

  /** @param {Entry} entry @param {Response} response @param {string} text */
  function settle(entry, response, text) {
    clearTimeout(timers.get(entry.key));
    // Logged out, or too many requests: the decision was not looked at. Any other answer may come from a proxy.
    if ([401, 403, 429].includes(response.status) || response.type === "opaqueredirect") return offer(entry);
    const isCard = text.includes(`id="request-${entry.id}"`);
    if (!isCard && response.status !== 404) return lookUp(entry);
    forget(entry);
    tell(response.ok ? "pausepoint:stored" : "pausepoint:refused", entry.id);
    const shown = card(entry.id);
    if (shown && isCard) {
      window.pausepoint.typing.keepFocus(shown);
      htmx.swap(shown, text, { swapStyle: "outerHTML" });
    }
    if (response.ok) endAsStored(entry);
    else {
      const page = parse(text), reason = (page.querySelector(".refusal p") ?? page.querySelector(".problem p, p"))?.textContent.trim() ?? "";
      endLine(entry, say(gettext("Not stored: %(title)s. %(reason)s"), { title: entry.title, reason }), { alert: true });
    }
    return response.ok;
  }
  /** @param {string} text */
  const parse = (text) => new DOMParser().parseFromString(text, "text/html");

  // --- Not known yet: looked up until the request has ended or has the vote that was sent, or still waits when the server has
  // given up every attempt.
  /** @param {Entry} entry */
  function showUnknown(entry) {
    showLine(entry, say(gettext("Not known yet whether your decision was stored: %(words)s, %(title)s."), entry), true)
      .append(makeButton(gettext("Send again"), () => send(entry)));
  }
  /** @param {Entry} entry */
  async function lookUp(entry) {
    const { sentAt } = entry;
    let page;
    try {
      const response = await fetch(pageOf(entry), { headers: { Accept: "text/html" } });
      if (response.ok && !response.redirected) page = parse(await response.text()).getElementById(`request-${entry.id}`);
    } catch { /* Looked up again. */ }
    // Meanwhile it was sent again, or this person logged out.
    if (own.get(entry.key) !== entry || entry.sentAt !== sentAt) return false;
    if (page?.querySelector(".outcome p")) return end(entry, page);
    if (page && isStoredVote(entry, page)) return endAsStored(entry);
    if (page && age(sentAt) > OVER) return offer(entry);
    if (age(sentAt) > SLOW) showUnknown(entry);
    clearTimeout(timers.get(entry.key));
    timers.set(entry.key, setTimeout(() => lookUp(entry), LOOK * 1000));
    return false;
  }
  /** @param {Entry} entry @param {HTMLElement} shown */
  function end(entry, shown) {
    forget(entry);
    endLine(entry, `${entry.title}: ${outcomeOf(shown)}`, { brief: true, done: true });
    return true;
  }
  /** @param {Entry} entry */
  function endAsStored(entry) {
    forget(entry);
    endLine(entry, say(gettext("Stored: %(words)s, %(title)s"), entry), { brief: true, done: true });
    return true;
  }
  /** @param {HTMLElement} shown */
  const outcomeOf = (shown) => shown.querySelector(".outcome p")?.textContent.trim().replace(/\s+/g, " ") ?? "";

  // A vote that was stored leaves its request waiting for others, so the look has to read this person's own vote.
  /** @typedef {{ at: string, verdict: string, digest: string, comment: string }} OwnVote */
  /** @param {Element} shown @returns {OwnVote | undefined} */
  function ownVote(shown) {
    const kept = shown.querySelector(".votes")?.getAttribute("data-own-vote");
    return kept ? JSON.parse(kept) : undefined;
  }
  /** @param {string} text */
  const plain = (text) => text.replaceAll("\r\n", "\n").trim();
  /** @param {Entry} entry @param {Element} shown */
  function isStoredVote({ body, votedAt }, shown) {
    const own = ownVote(shown), sent = new URLSearchParams(body), verdict = sent.get("verdict");
    if (!own || (own.verdict === "reject") !== (verdict === "reject")) return false;
    // Who votes the same again changes nothing, so the time of the vote stays.
    const isSame = verdict === own.verdict && sent.get("digest") === own.digest && plain(sent.get("comment") ?? "") === plain(own.comment);
    return own.at !== (votedAt ?? "") || isSame;
  }

  // --- Not sent: only what is certainly not stored may be discarded.
  /** @param {Entry} entry */
  function offer(entry) {
    change(entry, { state: "unsent" });
    mark(entry.id, false);
    const words = made.has(entry.key) ? gettext("Your decision was not sent: %(words)s, %(title)s.") : gettext("A decision from an earlier visit was not sent: %(words)s, %(title)s.");
    const line = showLine(entry, say(words, entry), true), drop = () => { forget(entry); line.remove(); };
    line.append(makeButton(gettext("Send now"), () => send(entry)), makeButton(gettext("Discard"), drop));
    return false;
  }

  // When the page is left, what is held is sent at once; the next page looks it up.
  const heldHere = () => [...own.values()].filter(({ state }) => state === "held");
  addEventListener("pagehide", () => {
    for (const entry of heldHere()) {
      change(entry, { state: "sent", sentAt: Date.now(), left: true });
      post(entry).then((response) => { if (response.ok) forget(entry); }, () => {});
      clearInterval(timers.get(entry.key));
      own.delete(entry.key);
    }
  });
  // A log-out waits for them, because nothing can be sent after it. If one was not stored, this page stays and says so.
  document.addEventListener("submit", (event) => {
    if (!event.target.matches?.("form[data-logout]") || !heldHere().length) return;
    stop(event);
    Promise.all(heldHere().map(send)).then((sent) => { if (sent.every(Boolean)) event.target.requestSubmit(); });
  }, true);

  // --- Whatever no page takes care of anymore: its page was left, or was killed before it could send or hear.
  /** @param {boolean} isNew */
  function adopt(isNew) {
    // Earlier versions kept other values.
    const entries = /** @type {[string, Partial<Entry> & { sending?: boolean, at?: number }][]} */ (Object.entries(stored()));
    for (const [key, kept] of entries) {
      if (own.has(key)) continue;
      const entry = /** @type {Entry} */ ({ key, state: kept.sending ? "sent" : "unsent", sentAt: kept.at, left: true, ...kept });
      const isGone = entry.state === "held" ? age(entry.until) > GONE : entry.state === "sent" ? entry.left || age(entry.sentAt) > OVER : isNew;
      if (!isGone) continue;
      own.set(key, entry);
      if (entry.state === "sent") lookUp(entry);
      else offer(entry);
    }
  }
  // Another tab has sent or discarded it, or its person has logged out there.
  addEventListener("storage", ({ key }) => {
    if (key !== STORED && key !== null) return;
    const kept = stored();
    for (const entry of [...own.values()]) {
      if (entry.state === "sent" || kept[entry.key]?.state === entry.state) continue;
      clearInterval(timers.get(entry.key));
      own.delete(entry.key);
      mark(entry.id, false);
      if (entry.state === "held") endLine(entry, say(gettext("You logged out, so your decision was not sent: %(words)s, %(title)s."), entry), { alert: true });
      else document.getElementById(`hold-${entry.key}`)?.remove();
    }
  });

  // --- The request has ended: someone else's decision stands, and the held one is not sent.
  function notice() {
    for (const entry of [...own.values()]) {
      const shown = card(entry.id), isOver = shown && !shown.matches(".is-pending");
      if (isOver && entry.state === "unsent") end(entry, shown);
      else if (!isOver && entry.state !== "unsent") mark(entry.id, true);
      if (!isOver || entry.state !== "held") continue;
      forget(entry);
      tell("pausepoint:refused", entry.id);
      const words = gettext("Someone else decided first: %(outcome)s Your decision was not sent: %(title)s");
      endLine(entry, say(words, { outcome: outcomeOf(shown), title: entry.title }), { alert: true });
    }
  }
  for (const name of ["htmx:wsAfterMessage", "htmx:afterSettle", "htmx:load"]) document.addEventListener(name, notice);

  // --- The line of a decision at the edge of the window.
  /** @param {Entry} entry @param {string} words */
  function showLine({ key, id, action }, words, alert = false) {
    return showToast(`hold-${key}`, words, { alert, link: alert && !card(id) ? pageOf({ action }) : undefined });
  }
  /** @param {Entry} entry @param {string} words @param {{ brief?: boolean, alert?: boolean, done?: boolean }} how */
  function endLine(entry, words, { brief, alert, done }) {
    const line = showLine(entry, words, alert);
    line.classList.toggle("toast-done", Boolean(done));
    if (alert) line.append(makeButton(gettext("Close"), () => line.remove()));
    if (!brief) return;
    announce(words);
    setTimeout(() => line.remove(), 5000);
  }

  if (!person) return;
  document.addEventListener("DOMContentLoaded", () => adopt(true));
  setInterval(adopt, LOOK * 1000);
})();
