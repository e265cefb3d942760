// Live updates of an open timeline: on a push, fetch the page again and insert the new entries.
(() => {
  "use strict";

  let reading = false, again = false;

  // Use the event before the message is swapped in: afterwards, fragments that this page does not show are gone.
  document.addEventListener("htmx:wsBeforeMessage", (event) => {
    // The text of a running step adds no entry; everything that is stored comes with the turn's state.
    if (document.querySelector("#timeline[data-live]") && String(event.detail.message).includes('id="turn"')) update();
  });

  async function update() {
    if (reading) {
      again = true;
      return;
    }
    reading = true;
    do {
      again = false;
      const answer = await fetch(location.pathname).catch(() => null);
      if (answer?.ok && !answer.redirected) merge(await answer.text());
    } while (again);
    reading = false;
  }

  /** @param {string} text */
  function merge(text) {
    const list = document.getElementById("timeline");
    const fresh = new DOMParser().parseFromString(text, "text/html").getElementById("timeline");
    if (!fresh) return;
    /** @type {Element | null} */
    let before = null;
    for (const entry of [...fresh.children].reverse()) {
      const shown = document.getElementById(entry.id);
      if (!shown) {
        // Insert from the end, each new entry before the one that follows it.
        before = list.insertBefore(document.importNode(entry, true), before);
        before.classList.add("arrived");
      } else {
        before = shown;
      }
    }
    for (const words of document.querySelectorAll("main .empty")) words.remove();
  }
})();
