// A press decides only what was there when it began: neither the second half of a double-click, nor a held Enter key, nor a
// click on a request that has just opened under the pointer.
(() => {
  "use strict";

  // A pointer is aimed, so it waits for less time than a key after a request has opened by itself.
  const PAUSE = 300;
  /** @param {Event} event */
  const ignore = (event) => {
    event.preventDefault();
    event.stopImmediatePropagation();
  };

  document.addEventListener("keydown", (event) => {
    if (event.repeat && event.key === "Enter" && event.target.matches?.("button")) ignore(event);
  }, true);

  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("button");
    if (!event.isTrusted || !button?.form || button.type !== "submit") return;
    if (event.detail > 1) return ignore(event);
    const { pane } = window.pausepoint;
    if (!pane?.card()?.contains(button) || pane.isSettled(PAUSE)) return;
    ignore(event);
    document.getElementById("announcements").textContent = gettext("This request has just opened. Look at it, then press again.");
  }, true);
})();
