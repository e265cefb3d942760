// Comboboxes: a field filters its suggestions while a person types. The arrow keys go through them, Enter takes the marked one,
// which is the best match at first, and Escape closes them. In a search, Enter searches unless one is marked. Without this script the browser suggests what a datalist has.
(() => {
  "use strict";

  /** @typedef {HTMLElement & { href?: string }} Option */
  const FIELD = "input[data-combobox]", PAUSE = 150;
  // Prepared fields have a list.
  /** @param {HTMLInputElement} field */
  const listOf = (field) => /** @type {HTMLElement} */ (document.getElementById(field.getAttribute("aria-controls") ?? ""));
  /** @param {Element | null} list @returns {HTMLInputElement | null} */
  const fieldOf = (list) => document.querySelector(`input[aria-controls="${list?.id}"]`);
  /** @param {HTMLElement} list */
  const optionsOf = (list) => [...list.querySelectorAll("[role=option]")];
  /** @param {Option} option */
  const textOf = (option) => (option.dataset.value ?? option.textContent).trim();
  /** @param {string} text */
  const fold = (text) => text.trim().toLowerCase();
  /** @param {HTMLInputElement} field */
  const isOpen = (field) => field.getAttribute("aria-expanded") === "true";
  // Suggestions that are links are part of the menu of a chip, which shows them all the time.
  /** @param {HTMLElement} list */
  const isMenu = (list) => list.matches(".suggestions *");
  /** @param {HTMLInputElement} field */
  const isSearch = (field) => field.type === "search";

  // The suggestions of a field are in its datalist, come from an address, or are links in a menu.
  /** @param {HTMLInputElement} field */
  function prepare(field) {
    if (field.getAttribute("aria-controls")) return;
    const list = document.createElement("div"), datalist = field.list;
    list.id = `${field.id}-options`;
    list.className = "combobox-list";
    list.hidden = true;
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", field.labels?.[0]?.firstChild?.textContent?.trim() ?? "");
    const attributes = { role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": list.id };
    for (const [name, value] of Object.entries(attributes)) field.setAttribute(name, value);
    field.removeAttribute("list");
    field.after(list);
    fill(list, datalist ? [...datalist.options].map((option) => option.value) : []);
  }

  /** @param {HTMLElement} list @param {string[]} values */
  function fill(list, values) {
    list.replaceChildren(...values.map((value, number) => {
      const option = document.createElement("div");
      option.id = `${list.id}-${number}`;
      option.dataset.value = option.textContent = value;
      option.setAttribute("role", "option");
      return option;
    }));
  }

  /** @param {HTMLInputElement} field */
  async function load(field) {
    const { source } = field.dataset, typed = field.value;
    let values;
    try {
      const response = await fetch(`${source}?${new URLSearchParams({ q: typed })}`);
      if (!response.ok) return;
      ({ values } = await response.json());
    } catch { return; }
    if (field.value !== typed || field !== document.activeElement) return;
    fill(listOf(field), values);
    show(field);
  }

  /** @param {Option} option @param {string} typed */
  function rank(option, typed) {
    const value = fold(textOf(option));
    if (value === typed) return 0;
    if (value.startsWith(typed)) return 1;
    return value.includes(typed) ? 2 : 3;
  }

  /** @param {HTMLInputElement} field */
  function show(field) {
    const list = listOf(field), typed = fold(field.value);
    if (!list) return;
    const options = optionsOf(list);
    for (const [number, option] of options.entries()) option.dataset.order ??= String(number);
    options.sort((one, other) => rank(one, typed) - rank(other, typed) || Number(one.dataset.order) - Number(other.dataset.order));
    for (const option of options) option.hidden = rank(option, typed) > 2;
    list.append(...options);
    const shown = options.filter((option) => !option.hidden);
    // A value that is complete needs no suggestions.
    const open = shown.length > 0 && (isMenu(list) || shown.some((option) => textOf(option) !== field.value));
    field.setAttribute("aria-expanded", String(open));
    if (!isMenu(list)) list.hidden = !open;
    mark(field, open && typed && !isSearch(field) ? shown[0] : undefined);
  }

  /** @param {HTMLInputElement} field @param {HTMLElement} [marked] */
  function mark(field, marked) {
    for (const option of optionsOf(listOf(field))) option.setAttribute("aria-selected", String(option === marked));
    if (marked) field.setAttribute("aria-activedescendant", marked.id);
    else field.removeAttribute("aria-activedescendant");
    marked?.scrollIntoView({ block: "nearest" });
  }

  /** @param {HTMLInputElement} field */
  function close(field) {
    const list = listOf(field);
    if (!list || isMenu(list)) return;
    list.hidden = true;
    field.setAttribute("aria-expanded", "false");
    mark(field);
  }

  /** @param {HTMLInputElement} field @param {Option} option */
  function take(field, option) {
    if (option.href) return option.click();
    field.value = textOf(option);
    close(field);
    field.dispatchEvent(new Event("input", { bubbles: true }));
    // The name of a field, or a value after it.
    if (isSearch(field)) load(field);
  }

  document.addEventListener("focusin", ({ target: field }) => {
    if (!field.matches(FIELD)) return;
    prepare(field);
    if (field.dataset.source) load(field);
    else if (listOf(field) && isMenu(listOf(field))) show(field);
  });
  document.addEventListener("focusout", ({ target: field }) => { if (field.matches(FIELD)) close(field); });

  let later = 0;
  document.addEventListener("input", ({ target: field, isTrusted }) => {
    if (!isTrusted || !field.matches(FIELD)) return;
    prepare(field);
    show(field);
    clearTimeout(later);
    if (field.dataset.source) later = setTimeout(load, PAUSE, field);
  });

  document.addEventListener("keydown", (event) => {
    const field = event.target, list = field.matches?.(FIELD) && listOf(field);
    if (!list || window.pausepoint.typing.isComposing(event)) return;
    const marked = document.getElementById(field.getAttribute("aria-activedescendant") ?? "");
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (!isOpen(field)) show(field);
      const shown = optionsOf(list).filter((option) => !option.hidden), step = event.key === "ArrowDown" ? 1 : -1;
      const next = marked ? shown.indexOf(marked) + step : Math.min(step, 0);
      if (isOpen(field)) mark(field, shown.at(next % shown.length));
    } else if (event.key === "Enter" && isOpen(field) && marked) take(field, marked);
    else if (event.key === "Escape" && isOpen(field) && !isMenu(list)) close(field);
    else return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }, true);

  // The field keeps the focus while an option is pressed.
  document.addEventListener("mousedown", (event) => { if (event.target.closest?.(".combobox-list")) event.preventDefault(); });
  document.addEventListener("click", ({ target }) => {
    const option = target.closest?.(".combobox-list [role=option]");
    const field = option && fieldOf(option.parentElement);
    if (field) take(field, option);
  });

  // --- The menu of a chip: its field has the focus at once, unless that opens the keyboard of a phone over the suggestions.
  document.addEventListener("toggle", ({ target, newState }) => {
    const field = newState === "open" && target.matches?.("details") && target.querySelector(`:scope > .chip-menu > .chip-form > ${FIELD}`);
    if (field && matchMedia("(pointer: fine)").matches) field.focus({ preventScroll: true });
  }, true);
  document.addEventListener("htmx:afterSwap", ({ target }) => {
    if (!target.matches?.(".suggestions")) return;
    const field = fieldOf(target.firstElementChild);
    if (field && field === document.activeElement) show(field);
  });
})();
