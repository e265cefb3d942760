// Lines at the edge of the window, about what a person has decided.
(() => {
  "use strict";

  /** @param {string} words @param {() => unknown} act */
  function makeButton(words, act) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = words;
    button.addEventListener("click", act);
    return button;
  }

  // A line takes the place of an earlier one with its id.
  /** @param {string} id @param {string} words @param {{ alert?: boolean, link?: string }} how */
  function show(id, words, { alert = false, link = "" }) {
    let area = document.getElementById("holds");
    if (!area) {
      area = document.createElement("section");
      area.id = "holds";
      area.setAttribute("aria-label", gettext("Your decisions"));
      document.body.append(area);
    }
    const line = document.createElement("div"), text = document.createElement("p");
    line.id = id;
    line.className = "toast";
    line.classList.toggle("toast-alert", alert);
    if (alert) line.setAttribute("role", "alert");
    text.textContent = words;
    line.append(text);
    if (link) {
      const anchor = document.createElement("a");
      anchor.href = link;
      anchor.textContent = gettext("Open it");
      line.append(anchor);
    }
    document.getElementById(id)?.remove();
    area.append(line);
    return line;
  }

  window.pausepoint.toasts = { show, makeButton };
})();
