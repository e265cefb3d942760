// Conveniences of a request's card, none of which is needed: rows for lists, a button that copies the raw JSON.
(function () {
  "use strict";

  function ready(root) {
    for (const rows of root.querySelectorAll("[data-rows]:not([data-ready])")) {
      rows.dataset.ready = "";
      const button = fromTemplate(rows.parentElement, "[data-add]");
      if (!button) continue;
      rows.after(button);
      button.addEventListener("click", () => addRow(rows, button));
      bound(rows, button);
    }
    for (const raw of root.querySelectorAll("details.raw:not([data-ready])")) {
      raw.dataset.ready = "";
      const button = fromTemplate(raw, "[data-copy]");
      if (!button || !navigator.clipboard) continue;
      raw.querySelector("pre").after(button);
      button.addEventListener("click", () => copy(raw));
    }
  }

  function fromTemplate(parent, selector) {
    return parent.querySelector(`template${selector}`)?.content.firstElementChild?.cloneNode(true);
  }

  function addRow(rows, button) {
    const row = rows.lastElementChild.cloneNode(true), number = rows.children.length;
    const field = row.querySelector("input"), label = row.querySelector("label");
    row.querySelector(".field-error")?.remove();
    field.removeAttribute("aria-invalid");
    field.removeAttribute("aria-describedby");
    field.value = "";
    field.defaultValue = "";
    field.id = field.id.replace(/\d+$/, String(number));
    label.htmlFor = field.id;
    label.textContent = label.textContent.replace(/\d+$/, String(number + 1));
    rows.append(row);
    bound(rows, button);
    field.focus();
  }

  function bound(rows, button) {
    const most = Number(rows.dataset.most || Infinity);
    button.hidden = rows.children.length >= most;
  }

  async function copy(raw) {
    await navigator.clipboard.writeText(raw.querySelector("pre").textContent);
    const said = document.getElementById("announcements");
    if (said) said.textContent = raw.querySelector("[data-copied]")?.dataset.copied || "";
  }

  document.addEventListener("DOMContentLoaded", () => ready(document));
  document.addEventListener("htmx:load", (event) => ready(event.detail.elt.parentElement || document));
})();
