// Conveniences of a request's card, which works without them: more rows for lists, a button that copies the raw JSON, and focus
// on a mistyped name.
(() => {
  "use strict";

  /** @param {ParentNode} root */
  function ready(root) {
    for (const rows of root.querySelectorAll("[data-rows]:not([data-ready])")) {
      rows.dataset.ready = "";
      rows.dataset.made = String(rows.children.length);
      const button = makeButton(rows.dataset.add);
      rows.after(button);
      button.addEventListener("click", () => addRow(rows, button));
      if (rows.dataset.remove) for (const row of rows.children) addRemove(rows, row, button);
      limitRows(rows, button);
    }
    for (const field of root.querySelectorAll("input[data-retype]:not([data-ready])")) {
      // Select the wrong name, so that typing replaces it.
      field.dataset.ready = "";
      field.focus();
      field.select();
    }
    for (const raw of root.querySelectorAll("details[data-copy]:not([data-ready])")) {
      raw.dataset.ready = "";
      if (!navigator.clipboard) continue;
      const button = makeButton(raw.dataset.copy);
      raw.querySelector("pre").after(button);
      button.addEventListener("click", () => copy(raw));
    }
  }

  /** @param {string} words */
  function makeButton(words) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "quiet";
    button.textContent = words;
    return button;
  }

  /** @param {HTMLElement} rows @param {HTMLButtonElement} button */
  function addRow(rows, button) {
    // Counted on, because rows before this one may have been removed.
    const number = Number(rows.dataset.made);
    rows.dataset.made = String(number + 1);
    const row = /** @type {Element} */ (rows.lastElementChild).cloneNode(true), fields = [...row.querySelectorAll("input, textarea, select")];
    for (const note of row.querySelectorAll(".field-error")) note.remove();
    for (const field of fields) {
      field.removeAttribute("aria-invalid");
      if (field.matches("select")) field.selectedIndex = 0;
      else field.value = field.defaultValue = "";
      if (field.dataset.local) field.dataset.local = "";
    }
    for (const part of [row, ...row.querySelectorAll("*")]) {
      for (const name of ["id", "for", "aria-describedby"]) {
        const value = part.getAttribute(name);
        if (value) part.setAttribute(name, value.replace(/-row\d+/g, `-row${number}`));
      }
    }
    for (const label of row.querySelectorAll("label.visually-hidden")) {
      label.textContent = label.textContent.replace(/\d+$/, String(number + 1));
    }
    const group = row.querySelector("[role=group]");
    if (group?.ariaLabel) group.ariaLabel = group.ariaLabel.replace(/\d+$/, String(number + 1));
    rows.append(row);
    if (rows.dataset.remove) addRemove(rows, row, button);
    limitRows(rows, button);
    fields.find((field) => field.type !== "hidden")?.focus();
  }

  // The last row is emptied: a form without a row could not get another one.
  /** @param {HTMLElement} rows @param {Element} row @param {HTMLButtonElement} button */
  function addRemove(rows, row, button) {
    row.querySelector("button.remove")?.remove();
    const remove = makeButton(rows.dataset.remove);
    remove.classList.add("remove");
    remove.addEventListener("click", () => {
      const next = row.nextElementSibling ?? row.previousElementSibling;
      if (next) row.remove();
      else for (const field of row.querySelectorAll("input, textarea, select")) field.value = "";
      limitRows(rows, button);
      (next ?? row).querySelector("input:not([type=hidden]), textarea, select")?.focus();
      rows.dispatchEvent(new Event("input", { bubbles: true }));
    });
    row.querySelector("[role=group]")?.append(remove);
  }

  /** @param {HTMLElement} rows @param {HTMLButtonElement} button */
  function limitRows(rows, button) {
    const most = Number(rows.dataset.most || Infinity);
    button.hidden = rows.children.length >= most;
  }

  // --- The edit form has its own field for the message to the agent. Copy the message of the card into it until it is changed.
  /** @param {HTMLFormElement | null} form */
  function copyMessage(form) {
    const box = form?.elements.comment, other = form?.closest(".request")?.querySelector(".verdicts textarea[name=comment]");
    if (!box || !other || box.value !== (box.dataset.carried ?? "")) return;
    box.value = other.value;
    box.dataset.carried = other.value;
  }
  document.addEventListener("submit", (event) => {
    if (event.target.closest(".request details.edit")) copyMessage(event.target);
  }, true);
  document.addEventListener("toggle", (event) => {
    if (event.target.matches?.(".request details.edit[open]")) copyMessage(event.target.querySelector("form"));
  }, true);

  // --- Ctrl+Enter in a field sends its form with the button that says so, which never approves.
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.repeat || window.pausepoint.typing.isComposing(event)) return;
    const button = event.target.matches?.("input, textarea") && event.target.form?.querySelector("button[data-sends]:not(:disabled)");
    if (!button) return;
    event.preventDefault();
    button.click();
  });

  // --- Enter in one of several fields does not send a form that is still being filled in. A changed input is reviewed before it is sent.
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.ctrlKey || event.metaKey || window.pausepoint.typing.isComposing(event)) return;
    const form = event.target.matches?.(".request form.fields input:not([type=file], [name=typed_name], .edit *)") ? event.target.form : null;
    const fields = form?.querySelectorAll("input:not([type=hidden]), select, textarea:not([name=comment])") ?? [];
    if (fields.length > 1) event.preventDefault();
  });

  // --- The server names all problems of a form at once; the browser would name one after another. Only the browser knows of a
  // half-typed date, and a decision that is held for a while has to be right at once.
  document.addEventListener("click", ({ target }) => {
    const form = target instanceof Element ? target.closest("button")?.form : null;
    if (!form?.matches(".request form.fields")) return;
    form.noValidate = !Number(document.body.dataset.holdSeconds) && ![...form.querySelectorAll("input")].some((field) => field.validity.badInput);
  }, true);

  // --- The first field with a problem has the focus, unless the person has gone on elsewhere.
  function focusProblem() {
    const refusal = document.activeElement;
    if (!refusal?.matches(".request .refusal")) return;
    const fields = refusal.closest(".request")?.querySelectorAll("[aria-invalid=true]") ?? [];
    [...fields].find((field) => field.checkVisibility())?.focus();
  }
  for (const name of /** @type {const} */ (["DOMContentLoaded", "htmx:afterSettle"])) document.addEventListener(name, focusProblem);

  // --- The button in the bar opens the form with the changes.
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a.to-edit"), edit = link?.closest(".request")?.querySelector("details.edit");
    if (!edit) return;
    event.preventDefault();
    edit.open = true;
    edit.scrollIntoView({ block: "nearest" });
    edit.querySelector("form :is(input:not([type=hidden]), textarea, select)")?.focus();
  });

  // --- Cancel restores what was proposed.
  document.addEventListener("click", (event) => {
    const edit = event.target.closest?.("a.cancel-edit")?.closest("details.edit");
    if (!edit) return;
    event.preventDefault();
    edit.querySelector("form")?.reset();
    for (const field of edit.querySelectorAll("input, textarea, select")) field.dispatchEvent(new Event("input", { bubbles: true }));
    edit.open = false;
    edit.closest(".request")?.querySelector("a.to-edit")?.focus();
  });

  // --- A question before a form is sent, in a dialog; its button says the same as the one that was pressed.
  document.addEventListener("htmx:confirm", (event) => {
    const { question, issueRequest, triggeringEvent } = event.detail;
    if (!question) return;
    event.preventDefault();
    const dialog = document.createElement("dialog"), text = document.createElement("p"), form = document.createElement("form");
    dialog.className = "dialog";
    dialog.setAttribute("aria-labelledby", "confirm-question");
    text.id = "confirm-question";
    text.textContent = question;
    form.method = "dialog";
    form.className = "buttons";
    for (const [value, label] of [["yes", triggeringEvent?.submitter?.textContent ?? gettext("Continue")], ["", gettext("Go back")]]) {
      const button = document.createElement("button");
      button.value = value;
      button.className = value ? "primary" : "";
      button.textContent = label.trim();
      form.append(button);
    }
    dialog.append(text, form);
    dialog.addEventListener("close", () => {
      dialog.remove();
      if (dialog.returnValue === "yes") issueRequest(true);
    });
    document.body.append(dialog);
    dialog.showModal();
  });

  /** @param {HTMLElement} raw */
  async function copy(raw) {
    await navigator.clipboard.writeText(raw.querySelector("pre").textContent);
    const announcements = document.getElementById("announcements");
    if (announcements) announcements.textContent = raw.dataset.copied;
  }

  // A page that only confirms has the focus at its top, so that a second press of Enter confirms nothing.
  document.addEventListener("DOMContentLoaded", () => document.querySelector("[data-first-focus]")?.focus({ preventScroll: true }));
  document.addEventListener("DOMContentLoaded", () => ready(document));
  document.addEventListener("htmx:load", (event) => ready(event.detail.elt.parentElement || document));
})();
