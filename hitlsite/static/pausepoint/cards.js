// Conveniences of a request's card, none of which is needed: rows for lists, a button that copies the raw JSON, a name that
// is selected to be typed anew.
(function () {
  "use strict";

  function ready(root) {
    for (const rows of root.querySelectorAll("[data-rows]:not([data-ready])")) {
      rows.dataset.ready = "";
      const button = made(rows.dataset.add);
      rows.after(button);
      button.addEventListener("click", () => addRow(rows, button));
      bound(rows, button);
    }
    for (const field of root.querySelectorAll("[data-retype]:not([data-ready])")) {
      // Whoever corrects it types over what was wrong, and types nowhere else.
      field.dataset.ready = "";
      field.focus();
      field.select();
    }
    for (const raw of root.querySelectorAll("details[data-copy]:not([data-ready])")) {
      raw.dataset.ready = "";
      if (!navigator.clipboard) continue;
      const button = made(raw.dataset.copy);
      raw.querySelector("pre").after(button);
      button.addEventListener("click", () => copy(raw));
    }
  }

  function made(words) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "quiet";
    button.textContent = words;
    return button;
  }

  function addRow(rows, button) {
    const row = rows.lastElementChild.cloneNode(true), number = rows.children.length;
    const field = row.querySelector("input"), label = row.querySelector("label");
    for (const said of row.querySelectorAll(".field-error, output")) said.remove();
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

  // --- A card has one comment, and an edit a box of its own for it: what was written in the other one goes along, until
  // somebody writes here.
  function carry(form) {
    const box = form?.elements.comment, other = form?.closest(".request")?.querySelector(".verdicts textarea[name=comment]");
    if (!box || !other || box.value !== (box.dataset.carried ?? "")) return;
    box.value = other.value;
    box.dataset.carried = other.value;
  }
  document.addEventListener("submit", (event) => {
    if (event.target.closest(".request details.edit")) carry(event.target);
  }, true);
  document.addEventListener("toggle", (event) => {
    if (event.target.matches?.(".request details.edit[open]")) carry(event.target.querySelector("form"));
  }, true);

  // --- Which folded parts were opened goes along with a decision: who has not seen all of it is asked once more.
  document.addEventListener("toggle", (event) => {
    if (event.target.matches?.("details[data-fold][open]")) event.target.dataset.opened = "";
  }, true);
  document.addEventListener("submit", (event) => {
    const folds = event.target.closest(".request")?.querySelectorAll("details[data-fold]:is([open], [data-opened])") ?? [];
    for (const { dataset } of folds) tell(event.target, dataset.fold);
  }, true);
  function tell(form, place) {
    if ([...form.querySelectorAll("input[name=opened]")].some((field) => field.value === place)) return;
    const field = document.createElement("input");
    Object.assign(field, { type: "hidden", name: "opened", value: place });
    form.append(field);
  }

  async function copy(raw) {
    await navigator.clipboard.writeText(raw.querySelector("pre").textContent);
    const said = document.getElementById("announcements");
    if (said) said.textContent = raw.dataset.copied;
  }

  document.addEventListener("DOMContentLoaded", () => ready(document));
  document.addEventListener("htmx:load", (event) => ready(event.detail.elt.parentElement || document));
})();
