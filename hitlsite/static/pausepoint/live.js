// Live pages: what the WebSocket pushes is swapped in by htmx; here is what htmx leaves to the page.
(function () {
  "use strict";

  const SIGNED_OUT = 4401, NOT_FOUND = 4404;
  const held = [];

  // A desk is to be live again soon after a restart, and not when a minute of patience is over.
  htmx.config.wsReconnectDelay = (tries) => Math.random() * Math.min(5000, 500 * 2 ** tries);

  // --- Fragments whose element is not on the page are no matter for htmx: they go to the end of the list they name
  // (data-first: to its beginning), or nowhere.
  htmx.defineExtension("place", {
    transformResponse(text) {
      const pushed = document.createElement("template");
      pushed.innerHTML = text;
      for (const element of [...pushed.content.children]) {
        if (isShown(element)) {
          element.remove();
          continue;
        }
        const [, target] = (element.getAttribute("hx-swap-oob") || "").match(/^(?:\w+)(?::(.+))?$/) || [];
        if (!element.hasAttribute("hx-swap-oob") || document.querySelector(target || `#${CSS.escape(element.id)}`)) continue;
        element.remove();
        place(element);
      }
      return pushed.innerHTML;
    },
  });

  // After it connects, a page gets again what changed in the second it was rendered. What it already shows is not announced:
  // that would replace what was said since.
  function isShown({ dataset }) {
    const shown = dataset.announces && document.getElementById(dataset.announces);
    return Boolean(shown) && shown.dataset.version === dataset.version;
  }

  function place(element) {
    const list = element.dataset.into && document.querySelector(element.dataset.into);
    if (!list || document.getElementById(element.id)) return;
    // A list that grows at its top would move what a pointer is about to press: wait until nobody is in it.
    if (element.dataset.first !== undefined && list.matches(":hover, :focus-within")) {
      held.push(element);
      return;
    }
    element.removeAttribute("hx-swap-oob");
    if (element.dataset.first !== undefined) list.prepend(element);
    else list.append(element);
    htmx.process(element);
    element.classList.add("arrived");
  }

  for (const name of ["pointerover", "focusin"]) {
    document.addEventListener(name, () => held.splice(0).forEach(place));
  }

  // --- What is on the page stays where it must not be replaced: whole cards, and forms somebody is writing in.
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    const fresh = event.detail.fragment.firstElementChild, shown = event.detail.target;
    if (!fresh || fresh.id !== shown.id) return;
    const unchanged = fresh.dataset.version !== undefined && fresh.dataset.version === shown.dataset.version;
    // What was just sent from a card is answered in that card, refusals too: until then it stays.
    const sending = shown.querySelector(".htmx-request") !== null && fresh.dataset.version !== undefined;
    // A decided card says all there is to say: to replace it would take the focus from its outcome.
    const stays = unchanged && (inUse(shown) || !shown.matches(".is-pending"));
    if (fresh.dataset.insertOnly !== undefined || sending || stays) event.detail.shouldSwap = false;
    // An opened table stays open through a push.
    const open = [...shown.querySelectorAll("details")].map((details) => details.open);
    fresh.querySelectorAll("details").forEach((details, index) => { if (open[index]) details.open = true; });
    if (event.detail.shouldSwap && shown.matches(".request.is-pending")) {
      const room = height(shown);
      queueMicrotask(() => hold(fresh, room));
    }
    if (event.detail.shouldSwap && shown.contains(document.activeElement)) {
      // Whoever has just decided keeps the focus on the outcome.
      // A line that says who is on it keeps it as a whole: its button may say something else by now.
      queueMicrotask(() => (fresh.matches(".assignee") ? fresh : fresh.querySelector(".outcome"))?.focus());
    }
  });

  // What others decide moves no card that a pointer is about to press: the outcome takes the room that the form had.
  // A style sheet and not a style attribute, which htmx would copy and the policy refuse.
  const rooms = new CSSStyleSheet();
  document.adoptedStyleSheets.push(rooms);
  function hold(card, room) {
    const outcome = card.querySelector(".outcome");
    if (!outcome) return;
    rooms.insertRule(`#${card.id} { min-height: ${room}px; }`);
    const over = height(card) - room;
    if (over > 0) rooms.insertRule(`#${card.id} .outcome { max-height: ${Math.max(height(outcome) - over, 48)}px; }`);
  }

  function height(element) {
    return element.getBoundingClientRect().height;
  }

  function inUse(card) {
    if (card.contains(document.activeElement) || card.dataset.inUse !== undefined) return true;
    if (card.querySelector("[data-in-use]")) return true;
    if ([...card.querySelectorAll("option")].some((option) => option.selected !== option.defaultSelected && option.value)) return true;
    return [...card.querySelectorAll("input:not([type=hidden]), textarea")].some(
      (field) => field.value !== field.defaultValue || field.checked !== field.defaultChecked
    );
  }

  window.pausepoint = { inUse };

  // --- A form that was sent and did not arrive says so, above it, until it is sent again; then what the server said there
  // about the last try goes too.
  for (const name of ["htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(name, (event) => {
      const form = event.detail.elt;
      if (form.matches("form") && form.isConnected) lost(form);
    });
  }
  document.addEventListener("htmx:beforeSend", (event) => {
    const form = event.detail.elt;
    if (!form.matches("form")) return;
    for (const place of new Set([form, event.detail.target])) forget(place);
  });

  function lost(form) {
    const line = document.createElement("p");
    line.className = "refusal";
    line.dataset.problem = "";
    line.setAttribute("role", "alert");
    line.tabIndex = -1;
    line.textContent = gettext("The server does not respond. Try again in a moment. Nothing is decided twice.");
    form.before(line);
    // A button that was disabled meanwhile has lost the focus; nobody else's is taken.
    if (document.activeElement === document.body || form.contains(document.activeElement)) line.focus();
  }

  function forget(place) {
    while (place.previousElementSibling?.matches("[data-problem]")) place.previousElementSibling.remove();
  }

  // --- The live mark.
  document.addEventListener("htmx:wsOpen", () => mark("on", gettext("Live")));
  document.addEventListener("htmx:wsConnecting", () => mark("off", gettext("Connecting…")));
  document.addEventListener("htmx:wsClose", (event) => {
    const code = event.detail.event.code;
    if (code === SIGNED_OUT) mark("out", gettext("You are logged out: reload to log in"));
    else if (code === NOT_FOUND) mark("out", gettext("No longer available"));
    else mark("off", gettext("Not live: reload for updates"));
  });

  function mark(state, words) {
    const live = document.getElementById("live");
    if (!live) return;
    live.dataset.state = state;
    live.querySelector(".live-words").textContent = words;
  }

  // --- After every push: text of committed steps gives way to its stored form.
  document.addEventListener("htmx:wsAfterMessage", tidy);
  document.addEventListener("htmx:afterSettle", tidy);
  document.addEventListener("DOMContentLoaded", tidy);

  function tidy() {
    const turn = document.getElementById("turn");
    if (turn) {
      const runs = turn.dataset.state === "queued" || turn.dataset.state === "running";
      for (const step of document.querySelectorAll(".live-step")) {
        const over = step.dataset.turn === turn.dataset.turn && (!runs || Number(step.dataset.step) < Number(turn.dataset.committed));
        if (over || Number(step.dataset.turn) < Number(turn.dataset.turn)) step.remove();
      }
    }
    follow();
  }

  // --- Where no push will come, an answer without a content is a reason to read the page again.
  document.addEventListener("htmx:afterRequest", (event) => {
    const live = document.getElementById("live");
    if (event.detail.xhr?.status === 204 && live && live.dataset.state !== "on") location.reload();
  });

  // --- A chat keeps its end in view, unless somebody has scrolled up to read.
  let atEnd = true;
  addEventListener("scroll", () => { atEnd = innerHeight + scrollY > document.documentElement.scrollHeight - 120; }, { passive: true });
  function follow() {
    if (atEnd && document.getElementById("composer")) scrollTo({ top: document.documentElement.scrollHeight });
  }

  // --- Enter sends, Shift+Enter makes a new line (and Enter that ends a word in an input method does neither).
  document.addEventListener("keydown", (event) => {
    const field = event.target;
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || !field.matches?.("[data-send-on-enter]")) return;
    event.preventDefault();
    if (field.value.trim()) field.form.requestSubmit();
  });
})();
