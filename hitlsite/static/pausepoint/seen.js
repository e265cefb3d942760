// Which parts of waiting requests were in view, on their own pages and on the page of a bulk decision. The forms report them, and the
// server asks once before it approves the rest unseen.
// Geometry instead of an IntersectionObserver, which says nothing while someone scrolls within a part that fills the window.
(() => {
  "use strict";

  const BULK = ".bulk-part", CARDS = `.request.is-pending, .confirm, ${BULK}`, SLACK = 2;
  // A key that was meant for what was there before must not decide what has just come into view.
  const PAUSE = 1000;
  let moved = -Infinity;
  /** @typedef {[number, number][]} Spans of a part, from 0 for its top to 1 for its bottom */
  /** @type {Map<string, { viewed: Set<string>, spans: Map<string, Spans>, opened: Set<string> }>} */
  const reports = new Map();

  // This script runs before the others, and before the page is shown.
  window.pausepoint = /** @type {Pausepoint} */ ({});
  // Where this script does not run, the buttons stand below the input instead of staying in view.
  document.documentElement.classList.add("watches");
  // A PDF is shown where the browser can; else, its frame would save it as a file.
  document.documentElement.classList.toggle("shows-pdf", navigator.pdfViewerEnabled);

  // By request: the places that were in view, for each other place the spans of it that were, and the folds that are open. Pushes
  // and refusals replace the card, but not what a person has seen.
  /** @param {Element} card */
  function reportOf(card) {
    // What was in view before the page of a bulk decision was refused.
    const known = (card.getAttribute("data-seen") ?? "").split(" ").filter(Boolean);
    const report = reports.get(card.id) ?? { viewed: new Set(known), spans: new Map(), opened: new Set() };
    reports.set(card.id, report);
    return report;
  }

  /** @param {HTMLElement} card */
  function scrollerOf(card) {
    for (let box = card.parentElement; box && box !== document.body; box = box.parentElement) {
      if (getComputedStyle(box).overflowY !== "visible") return box;
    }
    return undefined;
  }

  // The heading of the request, where it stays above what scrolls.
  /** @param {HTMLElement} card */
  function headingOf(card) {
    const heading = card.closest(".detail")?.querySelector(".detail-head > hgroup");
    return heading && getComputedStyle(heading).position === "sticky" ? heading : undefined;
  }

  // What of the window the card can be seen in: not what is behind the header or the bar with the buttons.
  /** @param {HTMLElement} card */
  function frameOf(card) {
    const box = scrollerOf(card)?.getBoundingClientRect();
    let top = Math.max(0, box?.top ?? 0), bottom = Math.min(innerHeight, box?.bottom ?? innerHeight);
    for (const bar of document.querySelectorAll("body > .bar, .detail-bar")) {
      if (bar.checkVisibility()) top = Math.max(top, bar.getBoundingClientRect().bottom);
    }
    const heading = headingOf(card);
    if (heading) top = Math.max(top, (box?.top ?? 0) + heading.offsetHeight);
    for (const bar of (card.closest(".bulk-page") ?? card).querySelectorAll(".decision-bar, .decision-stay, .bulk-decide")) {
      const shape = bar.getBoundingClientRect();
      if (shape.height && getComputedStyle(bar).position === "sticky" && shape.bottom >= bottom - SLACK) bottom = Math.min(bottom, shape.top);
    }
    return { top, bottom };
  }

  // The frame that scrolls this part sideways, if it is wider than that.
  /** @param {Element} part */
  function sidewaysOf(part) {
    const box = part.closest(".scroll")?.getBoundingClientRect();
    return box && part.getBoundingClientRect().width > box.width + SLACK ? box : undefined;
  }

  /** @param {HTMLElement} card */
  function look(card) {
    if (document.visibilityState !== "visible" || card.closest("[inert]")) return;
    const { viewed, spans } = reportOf(card), parts = card.querySelectorAll("[data-view]:not([data-viewed])");
    const frame = parts.length ? frameOf(card) : { top: 0, bottom: 0 };
    for (const part of parts) {
      const place = part.dataset.view;
      if (!viewed.has(place)) {
        if (part.closest("details:not([open])")) continue;
        // A picture has its place before it is there, and also if it never comes.
        if (part instanceof HTMLImageElement && !part.naturalWidth) continue;
        const shape = part.getBoundingClientRect(), box = sidewaysOf(part);
        // A row that is wider than its frame is in view with its whole height, and span by span of its width.
        if (box && (shape.top < frame.top - SLACK || shape.bottom > frame.bottom + SLACK)) continue;
        const [start, size] = box ? [shape.left, shape.width] : [shape.top, shape.height];
        const from = Math.max(start, box?.left ?? frame.top), to = Math.min(start + size, box?.right ?? frame.bottom);
        if (!size || to <= from) continue;
        const seen = joined([...(spans.get(place) ?? []), [(from - start) / size, (to - start) / size]], SLACK / size);
        spans.set(place, seen);
        const [[first, last]] = seen;
        if (first > SLACK / size || last < 1 - SLACK / size) continue;
        viewed.add(place);
      }
      part.dataset.viewed = "";
    }
    countFiles(card);
    // Advice of programs is shown after the person's own look.
    const plain = card.querySelector("button[data-plain]"), advice = card.querySelector(".advice:not(.after-look)");
    if (!(plain || advice) || missing(card).length) return;
    if (plain) plain.textContent = plain.dataset.plain;
    if (!advice) return;
    advice.classList.add("after-look");
    /** @type {HTMLDetailsElement} */ (advice.querySelector("details")).open = true;
  }

  // How many of the files that a patch changes were in view.
  /** @param {HTMLElement} card */
  function countFiles(card) {
    const count = /** @type {HTMLElement | null} */ (card.querySelector(".files-viewed"));
    if (!count) return;
    const whole = reportOf(card).viewed.has("raw"), total = count.dataset.files ?? "";
    const seen = [...card.querySelectorAll(".edit-file")].filter((file) => !file.querySelector(".left-out, [data-view]:not([data-viewed])"));
    count.textContent = interpolate(gettext("Viewed %s of %s files"), [whole ? total : seen.length, total]);
  }

  // Spans in order, those that touch as one.
  /** @param {Spans} spans @param {number} slack */
  function joined(spans, slack) {
    /** @type {Spans} */
    const whole = [];
    for (const [from, to] of spans.sort(([one], [other]) => one - other)) {
      const last = whole.at(-1);
      if (last && from <= last[1] + slack) last[1] = Math.max(last[1], to);
      else whole.push([from, to]);
    }
    return whole;
  }

  // The parts that were not in view yet. The raw JSON counts only if something is nowhere else.
  /** @param {HTMLElement} card */
  function missing(card) {
    const { viewed } = reportOf(card), raw = card.querySelector(".left-out") !== null;
    return [...card.querySelectorAll("[data-view]:not([data-viewed])")].filter((part) => {
      // The whole of a value that is open takes the place of its beginning; the rest of a diff stands below it.
      const { view } = part.dataset, replaced = part.matches(".edit-file *") ? [] : [`${view}+`];
      if (part.matches(".edit *, :not(.edit-file *):has(+ .fold[open])") || ["raw", view, ...replaced].some((place) => viewed.has(place))) return false;
      return raw || !part.closest(".raw");
    });
  }

  let planned = false;
  function plan() {
    if (planned) return;
    planned = true;
    requestAnimationFrame(() => {
      planned = false;
      document.querySelectorAll(CARDS).forEach(look);
      document.dispatchEvent(new CustomEvent("pausepoint:looked"));
    });
  }
  for (const name of ["scroll", "resize", "toggle", "load"]) addEventListener(name, plan, { capture: true, passive: true });
  for (const name of ["visibilitychange", "pausepoint:opened", "htmx:afterSettle"]) document.addEventListener(name, plan);

  document.addEventListener("submit", (event) => {
    const form = event.target, card = form.closest(CARDS);
    for (const field of form.querySelectorAll("input[name=viewed]")) field.remove();
    if (card) report(form, card);
    else for (const part of form.querySelectorAll(BULK)) report(form, part, part.id);
  }, true);
  /** @param {HTMLFormElement} form @param {HTMLElement} card */
  function report(form, card, name = "") {
    look(card);
    const field = document.createElement("input"), places = [...reportOf(card).viewed];
    Object.assign(field, { type: "hidden", name: "viewed", value: (name ? [name, ...places] : places).join(" ") });
    form.append(field);
  }

  // --- A file that the page does not show was seen when it was opened.
  /** @param {MouseEvent} event */
  function open({ target }) {
    const link = target instanceof Element ? target.closest("[data-opens]") : null, card = link?.closest(CARDS);
    if (link && card) reportOf(card).viewed.add(link.getAttribute("data-opens") ?? "");
    plan();
  }
  for (const name of /** @type {const} */ (["click", "auxclick"])) document.addEventListener(name, open);

  // --- Folds stay open when a push or a refusal replaces their card.
  document.addEventListener("toggle", (event) => {
    const fold = event.target, card = fold.matches?.("details[data-fold]") && fold.closest(CARDS);
    if (card) reportOf(card).opened[fold.open ? "add" : "delete"](fold.dataset.fold);
  }, true);
  /** @param {ParentNode} root */
  function ready(root) {
    for (const fold of root.querySelectorAll(`:is(${CARDS}) details[data-fold]`)) {
      if (reportOf(/** @type {Element} */ (fold.closest(CARDS))).opened.has(fold.dataset.fold)) fold.open = true;
    }
    // A refusal of what was not in view stays where the buttons are, while the page goes to what that is.
    for (const refusal of root.querySelectorAll(".request[data-warned] .decision-bar .refusal:not([data-shown])")) {
      refusal.dataset.shown = "";
      if (showNext(/** @type {HTMLElement} */ (refusal.closest(".request")))) moved = performance.now();
    }
    plan();
  }
  document.addEventListener("DOMContentLoaded", () => ready(document));
  document.addEventListener("htmx:load", (event) => ready(event.detail.elt.parentElement ?? document));

  // --- A request that opens in the pane shows as much of its input as there is room for.
  document.addEventListener("pausepoint:opened", ({ detail }) => {
    const card = document.getElementById(`request-${detail.id}`), parts = card?.matches(CARDS) ? card.querySelectorAll(":is(.request-body, .input) > :is(.values, .call, .agent-text)") : [];
    const [first] = parts, last = [...parts].at(-1);
    const scroller = card && last && headingOf(card) && scrollerOf(card);
    if (!scroller) return;
    const { top, bottom } = frameOf(card);
    const hidden = last.getBoundingClientRect().bottom - bottom, room = first.getBoundingClientRect().top - top;
    if (hidden > 0) scroller.scrollTop += Math.max(0, Math.min(hidden + 4, room));
  });

  // --- Open everything, and scroll to what was not in view yet; again, to the next of it. Returns whether something is left.
  window.pausepoint.unfold = (card) => {
    look(card);
    showNext(card);
    return missing(card).length > 0;
  };
  // What opens here is on the screen only after the page has moved: until then nothing of it counts as seen. Returns whether it moved.
  /** @param {HTMLElement} card */
  function showNext(card) {
    const raw = card.querySelector(".left-out") ? ", .raw" : "";
    for (const fold of card.querySelectorAll(`details:is(.fold, .branch${raw}):not([open])`)) fold.open = true;
    const [next] = missing(card);
    if (!next) return false;
    // A file that is not shown here has a mark without a place: go to its link.
    const { left, top, width, height } = (next.hidden && next.closest("li") || next).getBoundingClientRect();
    const [[start, end]] = reportOf(card).spans.get(next.dataset.view) ?? [[1, 1]];
    const box = sidewaysOf(next), frame = frameOf(card), size = box ? width : height;
    const seen = start * size > SLACK ? 0 : end * size;
    // Sideways only where it is: what has come into view with the page is looked at first.
    if (box && top >= frame.top && top + height <= frame.bottom) next.closest(".scroll")?.scrollBy({ left: left + seen - box.left });
    else (scrollerOf(card) ?? window).scrollBy({ top: top + (box ? 0 : seen) - frame.top - 8 });
    look(card);
    return true;
  }

  // Focus what opens the file that was not seen yet, or marks it as viewed, if that is the next part. Returns whether it is.
  /** @param {HTMLElement} card */
  function goToFile(card) {
    const file = missing(card)[0]?.closest(".attachments li");
    const controls = file ? [...file.querySelectorAll(".pdf[open] button, .pdf:not([open]) > summary"), ...file.querySelectorAll("a[data-opens]")] : [];
    const control = /** @type {HTMLElement | undefined} */ (controls.find((each) => each.checkVisibility()));
    control?.focus({ preventScroll: true });
    return control !== undefined;
  }

  // --- Read on: show the next part of these cards that was not in view. Returns whether there was one.
  /** @param {HTMLElement[]} cards */
  function readOn(cards) {
    cards.forEach(look);
    if (!cards.some(showNext)) return false;
    moved = performance.now();
    plan();
    return true;
  }
  // What no scrolling shows: values in the raw JSON alone, and files that were not opened.
  /** @param {HTMLElement} card */
  function isSeen(card) {
    const { viewed } = reportOf(card), files = [...card.querySelectorAll("a[data-opens]")];
    if (missing(card).length || files.some((file) => !viewed.has(file.dataset.opens ?? ""))) return false;
    return viewed.has("raw") || !card.querySelector(".left-out");
  }
  document.addEventListener("pausepoint:opened", () => { moved = -Infinity; });
  window.pausepoint.seen = { readOn, goToFile, isSeen, hasJustMoved: () => performance.now() - moved < PAUSE };
})();
