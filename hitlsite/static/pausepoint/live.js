// Live pages: htmx swaps in what the WebSocket pushes; this script decides where new fragments go and what stays.
(() => {
  "use strict";

  // Clocks of browsers may be wrong by minutes. The page says when the server made it, and its answer began to arrive then.
  const [load] = /** @type {PerformanceNavigationTiming[]} */ (performance.getEntriesByType("navigation"));
  const ahead = Date.parse(document.body.dataset.now ?? "") - (performance.timeOrigin + (load?.responseStart ?? 0));
  // Less is the time that the answer took.
  const isWrong = Math.abs(ahead) > 5000;
  const now = () => Date.now() + (isWrong ? ahead : 0);

  const LOGGED_OUT = 4401, NOT_FOUND = 4404, BEHIND = 4413;
  /** @type {Element[]} */
  const deferred = [];
  // The last push of each element that waits for the response of a form in it.
  /** @type {Map<string, Element>} */
  const overtaken = new Map();

  // Reconnect within seconds after a restart, not only after a minute of back-off.
  htmx.config.wsReconnectDelay = (tries) => Math.random() * Math.min(5000, 500 * 2 ** tries);

  // --- htmx ignores fragments whose element is not on the page. They are appended to the list that data-into names (with
  // data-first, prepended), or dropped.
  htmx.defineExtension("place", {
    transformResponse(text) {
      const pushed = document.createElement("template");
      pushed.innerHTML = text;
      // Compare before anything is placed: a new card must be announced.
      for (const element of [...pushed.content.children].filter(isShown)) element.remove();
      for (const element of [...pushed.content.children]) {
        const [, target] = (element.getAttribute("hx-swap-oob") || "").match(/^(?:\w+)(?::(.+))?$/) || [];
        if (!element.hasAttribute("hx-swap-oob") || document.querySelector(target || `#${CSS.escape(element.id)}`)) continue;
        element.remove();
        place(element);
      }
      return pushed.innerHTML;
    },
  });

  // After it connects, a page receives again what changed in the second it was rendered. Do not announce what it already shows:
  // that would replace a newer announcement.
  /** @param {Element} element */
  function isShown({ dataset }) {
    const shown = dataset.announces && document.getElementById(dataset.announces);
    return shown ? shown.dataset.version === dataset.version : false;
  }

  /** @param {Element} element */
  function place(element) {
    const list = element.dataset.into && document.querySelector(element.dataset.into);
    if (!list || document.getElementById(element.id)) return;
    // Inserting at the top would move what a pointer is about to press: wait until the list is neither hovered nor focused.
    if (element.dataset.first !== undefined && list.matches(":hover, :focus-within")) {
      deferred.push(element);
      return;
    }
    element.removeAttribute("hx-swap-oob");
    if (element.dataset.first !== undefined) list.prepend(element);
    else list.append(element);
    htmx.process(element);
    element.classList.add("arrived");
  }

  for (const name of ["pointerover", "focusin"]) {
    document.addEventListener(name, () => deferred.splice(0).forEach(place));
  }

  // --- Do not replace decided cards, or forms that someone is filling in.
  // A form that is being sent and whose response replaces the shown element.
  const SENT = 'form.htmx-request[hx-target="closest .request"], .assignee:scope > form.htmx-request';
  // A link whose response will do that.
  const FOLLOWED = 'a.htmx-request[hx-target="closest .request"]';
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    const fresh = event.detail.fragment.firstElementChild, shown = event.detail.target;
    if (!fresh || fresh.id !== shown.id) return;
    const unchanged = fresh.dataset.version !== undefined && fresh.dataset.version === shown.dataset.version;
    // While a form of the card is being sent, wait for its response, which may be a refusal; it may also be older than this.
    const sending = shown.querySelector(SENT) !== null && fresh.dataset.version !== undefined;
    // Replacing a decided card would take the focus from its outcome.
    const stays = unchanged && (inUse(shown) || !shown.matches(".is-pending"));
    if (shown.id === "composer-state") keepQuestion(shown, fresh);
    if (sending) overtaken.set(shown.id, fresh);
    if (fresh.dataset.insertOnly !== undefined || sending || stays) event.detail.shouldSwap = false;
    if (event.detail.shouldSwap && shown.querySelector(FOLLOWED)) passOn(shown);
    // Keep open details open.
    const folds = "details:not([hx-preserve] details)";
    const open = [...shown.querySelectorAll(folds)].map((details) => details.open);
    fresh.querySelectorAll(folds).forEach((details, index) => { if (open[index]) details.open = true; });
    if (event.detail.shouldSwap && shown.matches(".request.is-pending") && !shown.closest(".request-main")) {
      const before = height(shown);
      queueMicrotask(() => keepHeight(fresh, before));
    }
    const focused = document.activeElement;
    // The button of an assignee is disabled while it is sent, and has lost the focus.
    const claiming = focused === document.body && shown.querySelector(".assignee > form.htmx-request") !== null;
    if (event.detail.shouldSwap && shown.contains(focused) && !isOwn(shown, focused)) {
      // Not every browser keeps the focus in what is moved to the new card.
      queueMicrotask(() => { if (document.activeElement !== focused) /** @type {HTMLElement} */ (focused).focus({ preventScroll: true }); });
    } else if (event.detail.shouldSwap && (shown.contains(focused) || claiming)) {
      // Keep the focus: on the outcome of the decision, or on the whole line with the assignee, whose button may have changed.
      queueMicrotask(() => (fresh.matches(".assignee") ? fresh : fresh.querySelector(".outcome") ?? (claiming ? fresh.querySelector(".assignee") : null))?.focus());
    }
  });

  // What was pushed during a decision is newer than the response, if both show that it was made.
  document.addEventListener("htmx:afterSettle", () => {
    for (const [id, fresh] of overtaken) {
      const shown = document.getElementById(id);
      if (shown?.querySelector(SENT)) continue;
      overtaken.delete(id);
      if (!shown || isPending(shown) || isPending(fresh)) continue;
      fresh.setAttribute("hx-swap-oob", "outerHTML");
      htmx.swap(shown, fresh.outerHTML, { swapStyle: "none" });
    }
  });
  /** @param {Element} element */
  const isPending = (element) => element.matches(".is-pending") || element.querySelector(".request.is-pending") !== null;

  // What a link of a replaced card brings goes into the new card, where htmx would put it into the old one. If the request has
  // changed meanwhile, the new card stays, because it is the newer one.
  /** @param {HTMLElement} replaced */
  function passOn(replaced) {
    // On the card itself: what is no longer on the page tells nobody else.
    replaced.addEventListener("htmx:beforeSwap", ({ detail }) => {
      const shown = document.getElementById(replaced.id);
      const brought = new DOMParser().parseFromString(detail.serverResponse, "text/html").getElementById(replaced.id);
      if (shown && brought?.dataset.version === shown.dataset.version) detail.target = shown;
      else detail.shouldSwap = false;
    }, { once: true });
  }

  // What was written as the answer to one question does not become the answer to the next: the server refuses it once.
  /** @param {Element} shown @param {Element} fresh */
  function keepQuestion(shown, fresh) {
    const before = shown.querySelector("input[name=answers]"), next = fresh.querySelector("input[name=answers]");
    if (before?.value && next && document.getElementById("text").value.trim()) next.value = before.value;
  }

  // When someone else decides, a card beside others keeps its height, so that none of them moves below a pointer.
  // Use a style sheet: htmx would copy a style attribute, and the content security policy forbids it.
  const heights = new CSSStyleSheet();
  document.adoptedStyleSheets.push(heights);
  /** @param {Element} card @param {number} before */
  function keepHeight(card, before) {
    const outcome = card.querySelector(".outcome");
    if (!outcome) return;
    heights.insertRule(`#${card.id} { min-height: ${before}px; }`);
    const over = height(card) - before;
    if (over > 0) heights.insertRule(`#${card.id} .outcome { max-height: ${Math.max(height(outcome) - over, 48)}px; }`);
  }

  /** @param {Element} element */
  function height(element) {
    return element.getBoundingClientRect().height;
  }

  // What a card keeps when it is replaced, such as the notes of its page, does not count as a part of it.
  /** @param {Element} card @param {Element | null} element */
  const isOwn = (card, element) => card.contains(element) && !(card.matches(".request") && element?.closest(".slot-about"));

  /** @param {HTMLElement} card */
  function inUse(card) {
    if (isOwn(card, document.activeElement) || card.dataset.inUse !== undefined) return true;
    if (card.querySelector("[data-in-use]")) return true;
    const options = [...card.querySelectorAll("option")], fields = [...card.querySelectorAll("input:not([type=hidden]), textarea")];
    if (options.some((option) => option.selected !== option.defaultSelected && option.value && isOwn(card, option))) return true;
    return fields.some(
      (field) => isOwn(card, field) && (field.value !== field.defaultValue || ("checked" in field && field.checked !== field.defaultChecked))
    );
  }

  // The scripts after this one add their parts.
  window.pausepoint = /** @type {Pausepoint} */ ({ ...window.pausepoint, inUse, now });

  // --- If a form cannot be sent, an error above it says so until it is sent again; that removes earlier errors there, too.
  for (const name of /** @type {const} */ (["htmx:sendError", "htmx:timeout"])) {
    document.addEventListener(name, (event) => {
      const form = event.detail.elt;
      if (form.matches("form") && form.isConnected) showSendError(form);
    });
  }
  document.addEventListener("htmx:beforeSend", (event) => {
    const form = event.detail.elt;
    if (!form.matches("form")) return;
    for (const element of new Set([form, event.detail.target])) removeErrors(element);
  });

  // An error that is not a page, as when a proxy or the limit of a request's size refuses, must not take the form's place.
  document.addEventListener("htmx:beforeSwap", (event) => {
    const { xhr, requestConfig } = event.detail;
    const type = xhr.getResponseHeader("Content-Type") || "";
    const form = requestConfig.elt.closest("form");
    if (xhr.status < 400 || type.startsWith("text/html") || !form) return;
    event.detail.shouldSwap = false;
    showSendError(form, saidBy(xhr));
  });

  /** @param {XMLHttpRequest} xhr */
  function saidBy(xhr) {
    try { return JSON.parse(xhr.responseText).detail; } catch { return undefined; }
  }

  /** @param {Element} form @param {string} [words] */
  function showSendError(form, words) {
    const line = document.createElement("p");
    line.className = "refusal";
    line.dataset.problem = "";
    line.setAttribute("role", "alert");
    line.tabIndex = -1;
    line.textContent = words || gettext("The server does not respond. Try again in a moment. Nothing is decided twice.");
    form.before(line);
    // A button that was disabled meanwhile has lost the focus. Do not take it from anything else.
    if (document.activeElement === document.body || form.contains(document.activeElement)) line.focus();
    // A form that was sent with a key may lie below what is in view.
    line.scrollIntoView({ block: "nearest" });
  }

  /** @param {HTMLElement} element */
  function removeErrors(element) {
    while (element.previousElementSibling?.matches("[data-problem]")) element.previousElementSibling.remove();
  }

  // --- The connection status. "Live" is said by the server, once this page has caught up.
  let wasLive = false;
  document.addEventListener("htmx:wsOpen", () => { wasLive = true; });
  document.addEventListener("htmx:wsConnecting", () => { if (!wasLive) showStatus("off", gettext("Connecting…")); });
  document.addEventListener("htmx:wsClose", (event) => {
    const code = event.detail.event.code;
    if (code === LOGGED_OUT) showStatus("out", gettext("You are logged out: reload to log in"));
    else if (code === NOT_FOUND) showStatus("out", gettext("No longer available"));
    else if (code === BEHIND) catchUp();
    else showStatus("off", gettext("Reconnecting…"));
  });

  // The browser may know of a lost network long before the connection ends. If it comes back, so does what the server said.
  let saidByServer = () => {};
  addEventListener("offline", () => {
    const live = document.getElementById("live"), state = live?.dataset.state ?? "";
    if (!live || !["on", "slow"].includes(state)) return;
    const words = live.querySelector(".live-words").textContent, offline = gettext("Offline");
    showStatus("off", offline);
    saidByServer = () => { if (document.querySelector("#live .live-words")?.textContent === offline) showStatus(state, words); };
  });
  addEventListener("online", () => saidByServer());

  // The browser did not read what was pushed, so the server has given up. Do not take away what someone is filling in.
  function catchUp() {
    const filledIn = [...document.querySelectorAll("form")].some((form) => inUse(form));
    if (filledIn) showStatus("stale", gettext("This page is out of date: reload it"));
    else location.reload();
  }

  /** @param {string} state @param {string} words */
  function showStatus(state, words) {
    const live = document.getElementById("live");
    if (!live) return;
    live.dataset.state = state;
    live.querySelector(".live-words").textContent = words;
  }

  // --- After every push, remove the streamed text of steps that are stored by now.
  document.addEventListener("htmx:wsAfterMessage", removeStoredSteps);
  document.addEventListener("htmx:afterSettle", removeStoredSteps);
  document.addEventListener("DOMContentLoaded", removeStoredSteps);

  function removeStoredSteps() {
    const turn = document.getElementById("turn");
    if (turn) {
      const running = turn.dataset.state === "queued" || turn.dataset.state === "running";
      for (const step of document.querySelectorAll(".live-step")) {
        const stored = step.dataset.turn === turn.dataset.turn && (!running || Number(step.dataset.step) < Number(turn.dataset.committed));
        if (stored || Number(step.dataset.turn) < Number(turn.dataset.turn)) step.remove();
      }
    }
    scrollToEnd();
  }

  // --- A message that was sent leaves the composer, and the push shows it: a response with the chat could be older than a push
  // that has arrived meanwhile. What was typed since stays.
  document.addEventListener("htmx:afterRequest", ({ detail: { elt: form, requestConfig, xhr } }) => {
    if (!(form instanceof HTMLFormElement) || form.id !== "composer" || xhr?.status !== 204) return;
    const text = document.getElementById("text"), typed = text.value;
    text.defaultValue = "";
    form.reset();
    if (typed !== requestConfig.formData.get("text")) text.value = typed;
    form.querySelector("details")?.removeAttribute("open");
    form.querySelector(":scope > .refusal")?.remove();
    if (document.activeElement === document.body || form.contains(document.activeElement)) text.focus();
  });

  // --- If the page is not live, reload it after a response without content, because no push will update it.
  document.addEventListener("htmx:afterRequest", (event) => {
    const live = document.getElementById("live");
    if (event.detail.xhr?.status === 204 && live && live.dataset.state !== "on") location.reload();
  });

  // --- A page that the browser has kept and shows again is as old as its leaving.
  addEventListener("pageshow", ({ persisted }) => { if (persisted) location.reload(); });

  // --- A chat keeps its end in view unless the reader has scrolled up.
  let atEnd = true;
  addEventListener("scroll", () => { atEnd = innerHeight + scrollY > document.documentElement.scrollHeight - 120; }, { passive: true });
  function scrollToEnd() {
    if (atEnd && document.getElementById("composer")) scrollTo({ top: document.documentElement.scrollHeight });
  }

  // --- Enter sends and Shift+Enter inserts a new line. Enter that completes a word of an input method does neither.
  document.addEventListener("keydown", (event) => {
    const field = event.target;
    if (event.key !== "Enter" || event.shiftKey || window.pausepoint.typing.isComposing(event) || !field.matches?.("[data-send-on-enter]")) return;
    event.preventDefault();
    if (field.value.trim()) field.form?.requestSubmit();
  });
})();
