// A timeline that is open while things happen: what a push announces is read from the page itself and put where it belongs.
(function () {
  "use strict";

  let reading = false, again = false;

  // Before and not after the message: fragments that this page has no place for are taken out of it.
  document.addEventListener("htmx:wsBeforeMessage", (event) => {
    // Words of a running step change nothing here; whatever is stored comes with the turn's state.
    if (document.querySelector("#timeline[data-live]") && String(event.detail.message).includes('id="turn"')) read();
  });

  async function read() {
    if (reading) {
      again = true;
      return;
    }
    reading = true;
    do {
      again = false;
      const answer = await fetch(location.pathname).catch(() => null);
      if (answer && answer.ok && !answer.redirected) merge(await answer.text());
    } while (again);
    reading = false;
  }

  function merge(text) {
    const list = document.getElementById("timeline");
    const fresh = new DOMParser().parseFromString(text, "text/html").getElementById("timeline");
    if (!fresh) return;
    let before = null;
    for (const entry of [...fresh.children].reverse()) {
      const shown = document.getElementById(entry.id);
      if (!shown) {
        // What stands before all that is shown was not asked for: an earlier page has it.
        list.insertBefore(document.importNode(entry, true), before);
        before = document.getElementById(entry.id);
        before.classList.add("arrived");
      } else {
        before = shown;
      }
    }
    document.querySelectorAll("main .empty").forEach((words) => words.remove());
  }
})();
