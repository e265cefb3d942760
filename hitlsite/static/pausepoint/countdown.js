// The time until a deadline: counted down in the last five minutes, and announced three times, not every second.
(() => {
  "use strict";

  const ANNOUNCED_AT = [300, 60, 0];
  const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");
  const announced = new WeakMap();

  function refresh() {
    for (const place of document.querySelectorAll("[data-deadline]")) {
      const end = new Date(place.dataset.deadline);
      const seconds = Math.max(0, Math.ceil((end.getTime() - window.pausepoint.now()) / 1000));
      show(place, end, seconds);
      announce(place, seconds);
    }
  }

  /** @param {HTMLElement} place @param {Date} end @param {number} seconds */
  function show(place, end, seconds) {
    // Hidden from screen readers, which would read it every second; the time beside it says the same.
    const left = /** @type {HTMLElement | null} */ (place.querySelector(".left"));
    // Until the page hears that the request has expired, it no longer says that it will.
    if (!seconds && left) place.textContent = place.dataset.passed ?? "";
    if (!seconds || !left) return;
    const shown = reducedMotion.matches && seconds > 10 ? Math.ceil(seconds / 10) * 10 : seconds;
    const clock = window.pausepoint.clockTime(end);
    const ticks = `${Math.floor(shown / 60)}:${String(shown % 60).padStart(2, "0")}`;
    const words = interpolate(seconds < 300 ? gettext("at %(clock)s, %(left)s left") : gettext("at %(clock)s"), { clock, left: ticks }, true);
    if (left.textContent !== words) left.textContent = words;
    place.classList.toggle("soon", seconds < 300);
  }

  /** @param {HTMLElement} place @param {number} seconds */
  function announce(place, seconds) {
    const due = ANNOUNCED_AT.filter((limit) => seconds <= limit).length;
    const before = announced.get(place);
    announced.set(place, due);
    const announcements = document.getElementById("announcements");
    if (before === undefined || due <= before || !announcements) return;
    announcements.textContent = `${place.dataset.title}: ${seconds ? place.querySelector("time").textContent : place.dataset.passed}`;
  }

  setInterval(refresh, 1000);
  document.addEventListener("DOMContentLoaded", refresh);
  document.addEventListener("htmx:wsAfterMessage", refresh);
  document.addEventListener("htmx:afterSettle", refresh);
})();
