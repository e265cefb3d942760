// The pane of the inbox: the request that is open beside the list, or in its place where there is no room for both.
(() => {
  "use strict";

  const page = document.getElementById("inbox"), detail = document.getElementById("detail");
  if (!page || !detail) return;

  const body = document.getElementById("detail-body"), kept = document.getElementById("detail-kept");
  const none = document.getElementById("detail-none"), wide = matchMedia("(min-width: 900px)");
  const ID = /^[0-9a-f-]{36}$/;
  // A key that was meant for the last request must not decide the next one, which has just opened by itself.
  const PAUSE = 1000;

  /** @param {string} words */
  const announce = (words) => { document.getElementById("announcements").textContent = words; };
  // Of a row or a card.
  /** @param {HTMLElement} row */
  const idOf = (row) => row.id.replace(/^(row|request)-/, "");
  /** @param {string} id */
  const rowOf = (id) => page.querySelector(`.inbox-list > [id="row-${id}"]`);
  const rows = () => [...page.querySelectorAll(".inbox-list > .inbox-row")];
  // What j and k step through: in a list of what waits, no row that was decided since, here or elsewhere.
  const steps = () => rows().filter((row) => row === rowOf(current) || page.dataset.steps === "all" || isWaiting(row));
  // Rows that are like another stand in a fold below it, which opens when one of them is reached.
  /** @param {HTMLElement} row */
  function openFold(row) {
    const fold = row.closest("details.alike");
    if (fold) fold.open = true;
  }
  /** @param {HTMLElement} row */
  const isWaiting = (row) => row.matches(".is-pending:not([data-held])");
  const isSplit = () => page.classList.contains("split") && wide.matches;
  const card = () => body.querySelector(`[id="request-${current}"]`);

  let current = "", loaded = "", openedItself = -Infinity, outdated = false;
  /** @type {AbortController | undefined} */
  let asked;
  const decided = new Set();

  // --- Open a request. What was open stays until the next one is here; a form with unsent input is only put aside.
  /** @param {string} id */
  function open(id, { focus = false, itself = false, history: remember = true } = {}) {
    if (id === current) {
      if (focus) enter();
      return;
    }
    current = id;
    show();
    if (remember) write(id);
    const found = [...kept.children].find((one) => one.dataset.kept === id);
    if (found) {
      putAside();
      delete found.dataset.kept;
      found.id = "request-detail";
      body.append(found);
      finish(id, focus, itself);
      return;
    }
    load(id, focus, itself);
  }

  /** @param {string} id @param {boolean} focus @param {boolean} itself */
  async function load(id, focus, itself) {
    asked?.abort();
    asked = new AbortController();
    outdated = false;
    body.inert = true;
    body.setAttribute("aria-busy", "true");
    let html = "", words = "";
    try {
      const response = await fetch(`/requests/${id}/`, { signal: asked.signal, headers: { Accept: "text/html" } });
      // A login page instead of the request: the session has ended.
      if (response.redirected) return location.reload();
      if (response.ok) html = await response.text();
      else words = gettext("This request cannot be shown. It may not exist, or you may not have access.");
    } catch (error) {
      if (error instanceof DOMException && error.name === "AbortError") return;
      words = gettext("The server does not respond. Try again in a moment.");
    }
    if (current !== id) return;
    if (html && outdated) return load(id, focus, itself);
    putAside();
    if (words) body.replaceChildren(problem(words));
    else htmx.swap(body, html, { swapStyle: "innerHTML" }, { select: "#request-detail" });
    finish(id, focus, itself);
  }

  // A push about a request that is on its way here finds nothing to change, and what arrives may be older than it.
  document.addEventListener("htmx:wsBeforeMessage", (event) => {
    if (current && event.detail.message.includes(current)) outdated = true;
  });

  /** @param {string} words */
  function problem(words) {
    const line = document.createElement("p");
    line.className = "refusal";
    line.setAttribute("role", "alert");
    line.textContent = words;
    return line;
  }

  // A card that was decided is not shown on the way to the next one: until that is here, a picture of what was there stays.
  function freeze() {
    const shown = /** @type {HTMLElement} */ (body.firstElementChild), still = /** @type {HTMLElement} */ (shown.cloneNode(true));
    for (const element of [still, ...still.querySelectorAll("[id]")]) element.removeAttribute("id");
    still.dataset.still = "";
    still.inert = true;
    shown.hidden = true;
    body.append(still);
  }
  function thaw() {
    const still = body.querySelector(":scope > [data-still]");
    if (!still) return;
    still.remove();
    /** @type {HTMLElement} */ (body.firstElementChild).hidden = false;
  }
  document.addEventListener("htmx:beforeSwap", ({ detail: { requestConfig: { elt, path, verb }, xhr } }) => {
    const decides = verb === "post" && path.endsWith("/decide/") && xhr.status === 200 && card()?.contains(elt);
    if (decides && page.dataset.openNext === "yes" && nextOf(current)) freeze();
  });

  /** @param {string} id @param {boolean} focus @param {boolean} itself */
  function finish(id, focus, itself) {
    loaded = id;
    body.querySelector(":scope > [data-still]")?.remove();
    body.inert = false;
    body.removeAttribute("aria-busy");
    body.scrollTop = 0;
    openedItself = itself ? performance.now() : -Infinity;
    if (card()?.matches(".is-pending")) decided.delete(id);
    else decided.add(id);
    if (focus || !isSplit()) enter();
    document.dispatchEvent(new CustomEvent("pausepoint:opened", { detail: { id } }));
  }

  function putAside() {
    const old = body.firstElementChild;
    if (!old || !loaded) return;
    thaw();
    const sending = old.querySelector(".htmx-request") !== null;
    if (old.matches("article, div, section") && (sending || window.pausepoint.inUse(old))) {
      old.id = "";
      old.dataset.kept = loaded;
      kept.append(old);
    } else old.remove();
    loaded = "";
  }

  function enter() {
    if (loaded === current) body.focus({ preventScroll: true });
  }

  function show() {
    detail.hidden = current === "";
    none.hidden = current !== "";
    page.classList.toggle("is-open", current !== "");
    for (const row of rows()) row.classList.toggle("selected", idOf(row) === current);
    const row = rowOf(current);
    if (row) {
      titleOf(row).setAttribute("aria-current", "true");
      if (isSplit()) row.scrollIntoView({ block: "nearest" });
      showPlace(row);
    }
    for (const other of page.querySelectorAll(".row-title[aria-current]")) {
      if (other.closest(".inbox-row") !== row) other.removeAttribute("aria-current");
    }
    document.getElementById("detail-whole").href = current ? `/requests/${current}/` : "/";
  }

  // All that the list has, also what is not loaded yet.
  /** @param {HTMLElement} row */
  function showPlace(row) {
    const found = steps().filter((other) => page.dataset.steps === "all" || isWaiting(other));
    const place = found.indexOf(row) + 1, total = document.getElementById("inbox-count")?.dataset.count ?? String(found.length);
    const words = place ? interpolate(gettext("%s of %s"), [place, parseInt(total, 10) < found.length ? found.length : total]) : "";
    document.getElementById("detail-place").textContent = words;
  }

  function close({ history: remember = true } = {}) {
    const row = rowOf(current);
    asked?.abort();
    putAside();
    body.replaceChildren();
    body.inert = false;
    current = "";
    show();
    if (remember) write("");
    (row ?? rows()[0])?.querySelector(".row-title").focus();
    row?.scrollIntoView({ block: "nearest" });
  }

  /** @param {HTMLElement} row */
  const titleOf = (row) => row.querySelector(".row-title");

  // --- The address names the open request, so that a reload shows it again. Where it takes the place of the list, the Back
  // button of the browser returns to the list.
  /** @param {string} id */
  function write(id) {
    const address = location.pathname + location.search + (id ? `#${id}` : "");
    if (id && !isSplit() && !ID.test(location.hash.slice(1))) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
  }
  addEventListener("popstate", () => {
    const id = location.hash.slice(1);
    if (ID.test(id)) open(id, { history: false });
    else if (current) close({ history: false });
  });

  // --- Move from row to row. With both in view, the pane follows; a key that is held down loads only the last one.
  let soon = 0;
  /** @param {number} step */
  function move(step) {
    const from = selected(), found = rows().filter((row) => row === from || steps().includes(row));
    const next = from ? found[found.indexOf(from) + step] : found[step > 0 ? 0 : found.length - 1];
    if (!next) {
      const more = step > 0 && document.querySelector("#more-rows a");
      if (more) return more.click();
      return announce(step > 0 ? gettext("This is the last request on this page.") : gettext("This is the first request on this page."));
    }
    choose(next);
  }
  /** @param {HTMLElement} row */
  function choose(row) {
    openFold(row);
    titleOf(row).focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
    if (!isSplit() && !current) return;
    clearTimeout(soon);
    soon = setTimeout(() => open(idOf(row)), 60);
  }

  // The selected row: the one with the focus, else the one that is open.
  function selected() {
    return document.activeElement?.closest?.(".inbox-list > .inbox-row") ?? rowOf(current);
  }

  // --- After a decision the next waiting request opens, if the person wants that.
  document.addEventListener("pausepoint:decided", (event) => {
    const id = String(event.detail?.id ?? ""), active = document.activeElement;
    if (id !== current || page.dataset.openNext !== "yes") return;
    // Whoever has gone on to write a note or to search is not taken away from it.
    if (!window.pausepoint.typing.isField(active) || card()?.contains(active)) openNext(id);
    else thaw();
  });
  // The next row after a request that waits, or the first one.
  /** @param {string} id */
  function nextOf(id) {
    const found = rows(), place = found.findIndex((row) => idOf(row) === id);
    const others = [...found.slice(place + 1), ...found.slice(0, Math.max(place, 0))];
    return others.find((row) => isWaiting(row) && !row.matches(".is-voted") && !decided.has(idOf(row)));
  }
  /** @param {string} id */
  function openNext(id) {
    const waiting = nextOf(id), more = document.querySelector("#more-rows a"), found = rows();
    if (more && (!waiting || found.indexOf(waiting) < found.findIndex((row) => idOf(row) === id))) {
      document.addEventListener("htmx:afterSettle", () => openNext(id), { once: true });
      return more.click();
    }
    if (!waiting) thaw();
    if (!waiting) return announce(gettext("Nothing else is waiting in this list."));
    openFold(waiting);
    titleOf(waiting).focus({ preventScroll: true });
    open(idOf(waiting), { itself: true });
  }

  // The one place that tells of a decision or a vote made here: a card that the response to a form has replaced. Before it
  // settles, it has the classes of the old one. After a vote, the request waits for others.
  document.addEventListener("htmx:afterSettle", (event) => {
    const shown = card(), id = current, row = rowOf(id), waits = shown?.matches(".is-pending"), { verb, path = "" } = event.detail.requestConfig ?? {};
    if (verb !== "post" || !shown || loaded !== id || decided.has(id)) return;
    if (waits && !(path.endsWith("/decide/") && event.detail.successful && shown.querySelector(".votes-own"))) return thaw();
    row?.classList.toggle("is-voted", waits);
    if (!waits) decided.add(id);
    if (!waits && row?.matches(".is-pending")) {
      row.classList.replace("is-pending", "is-over");
      row.querySelector(".pick").replaceChildren();
      row.querySelector(".row-values").textContent = shown.querySelector(".outcome p")?.textContent.trim() ?? "";
    }
    // What has to be read first keeps the next request from opening.
    if (shown.dataset.stays !== undefined) thaw();
    else queueMicrotask(() => document.dispatchEvent(new CustomEvent("pausepoint:decided", { detail: { id } })));
  });

  // --- Rows and buttons open and close it. With a modifier key a title stays a link.
  page.addEventListener("click", (event) => {
    const row = event.target.closest(".inbox-list > .inbox-row");
    if (!row || event.target.closest("input, .pick, button")) return;
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    titleOf(row).focus({ preventScroll: true });
    const byKey = event.detail === 0;
    open(idOf(row), { focus: byKey && (current === idOf(row) || !isSplit()) });
  });
  document.getElementById("detail-close").addEventListener("click", () => close());
  document.getElementById("detail-next").addEventListener("click", () => step(1));
  document.getElementById("detail-previous").addEventListener("click", () => step(-1));
  /** @param {number} by */
  function step(by) {
    const found = steps(), next = found[found.findIndex((row) => idOf(row) === current) + by];
    if (!next) return announce(gettext("There is no other request in this direction."));
    openFold(next);
    open(idOf(next));
  }
  wide.addEventListener("change", show);
  document.addEventListener("htmx:wsAfterMessage", () => {
    const row = rowOf(current);
    if (row) showPlace(row);
  });

  // A decision that was taken back is open again.
  document.addEventListener("pausepoint:undone", ({ detail }) => {
    decided.delete(detail.id);
    open(detail.id, { focus: true });
  });

  // Another order of the list keeps the open request.
  page.addEventListener("click", (event) => {
    const link = event.target.closest(".orders a");
    if (link && current) link.hash = current;
  });

  window.pausepoint.pane = {
    open, close, move, selected, isSplit, openNext, idOf, rowOf, titleOf, show,
    current: () => current,
    isLoaded: () => loaded !== "" && loaded === current,
    isSettled: (pause = PAUSE) => performance.now() - openedItself > pause,
    card,
    wasDecidedHere: (id) => decided.has(id),
  };

  const first = location.hash.slice(1);
  show();
  if (ID.test(first)) open(first, { history: false });
  // A link that leads to whatever is first.
  if (first === "first" && rows().length) open(idOf(rows()[0]));
})();
