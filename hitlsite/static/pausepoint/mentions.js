// Suggest people while someone types @ and a name in an internal note. The arrow keys go through them, Enter or Tab takes the
// marked one, Escape closes the list. Without this script names can be typed in full.
(() => {
  "use strict";

  const FIELD = "textarea[data-mentions]", PAUSE = 150;
  // What stands before the caret: an @ at the beginning of a word, and the beginning of a name.
  const BEGUN = /(?:^|[^\w@.+/-])@([\w.+-]{0,150})$/u;

  /** @type {HTMLTextAreaElement | null} */
  let field = null;
  let later = 0;
  const list = document.createElement("div");
  list.id = "mention-options";
  list.className = "combobox-list";
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", gettext("People to notify"));
  list.hidden = true;

  /** @param {HTMLTextAreaElement} area */
  const begunIn = (area) => area.selectionStart === area.selectionEnd ? BEGUN.exec(area.value.slice(0, area.selectionStart)) : null;
  const options = () => [...list.querySelectorAll("[role=option]")];
  const marked = () => list.querySelector("[aria-selected=true]");

  // A plain text field for a screen reader until there is something to choose.
  function close() {
    clearTimeout(later);
    list.hidden = true;
    for (const name of ["role", "aria-autocomplete", "aria-expanded", "aria-controls", "aria-activedescendant"]) field?.removeAttribute(name);
    field = null;
  }

  /** @param {Element | undefined} option */
  function mark(option) {
    for (const each of options()) each.setAttribute("aria-selected", String(each === option));
    if (option) field?.setAttribute("aria-activedescendant", option.id);
    option?.scrollIntoView({ block: "nearest" });
  }

  /** @param {HTMLTextAreaElement} area @param {{ name: string, label: string }[]} people */
  function open(area, people) {
    close();
    if (!people.length) return;
    field = area;
    list.replaceChildren(...people.map(({ name, label }, number) => {
      const option = document.createElement("div");
      option.id = `${list.id}-${number}`;
      option.dataset.value = name;
      option.textContent = label;
      option.setAttribute("role", "option");
      return option;
    }));
    area.after(list);
    list.hidden = false;
    const attributes = { role: "combobox", "aria-autocomplete": "list", "aria-expanded": "true", "aria-controls": list.id };
    for (const [name, value] of Object.entries(attributes)) area.setAttribute(name, value);
    mark(options()[0]);
    const words = ngettext("%s person. Use the arrow keys.", "%s people. Use the arrow keys.", people.length);
    document.getElementById("announcements").textContent = interpolate(words, [people.length]);
  }

  /** @param {HTMLTextAreaElement} area */
  async function load(area) {
    const begun = begunIn(area);
    if (!begun) return close();
    let people;
    try {
      const response = await fetch(`${area.dataset.mentions}?${new URLSearchParams({ q: begun[1] ?? "" })}`);
      if (!response.ok) return;
      ({ people } = await response.json());
    } catch { return; }
    if (area === document.activeElement && begunIn(area)?.[1] === begun[1]) open(area, people);
  }

  /** @param {Element | null} option */
  function take(option) {
    const area = field, begun = area && begunIn(area);
    close();
    if (!area || !begun || !(option instanceof HTMLElement)) return;
    const end = area.selectionStart;
    area.setRangeText(`@${option.dataset.value} `, end - (begun[1] ?? "").length - 1, end, "end");
    area.dispatchEvent(new Event("input", { bubbles: true }));
  }

  /** @param {EventTarget | null} target */
  const areaOf = (target) => target instanceof HTMLTextAreaElement && target.matches(FIELD) ? target : null;

  document.addEventListener("input", ({ target, isTrusted }) => {
    const area = isTrusted ? areaOf(target) : null;
    if (!area) return;
    clearTimeout(later);
    if (begunIn(area)) later = setTimeout(load, PAUSE, area);
    else close();
  });
  document.addEventListener("focusout", ({ target }) => { if (field && areaOf(target) === field) close(); });

  document.addEventListener("keydown", (event) => {
    if (!field || areaOf(event.target) !== field || window.pausepoint.typing.isComposing(event)) return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const shown = options(), at = shown.indexOf(/** @type {HTMLElement} */ (marked())) + (event.key === "ArrowDown" ? 1 : -1);
      mark(shown.at(at % shown.length));
    } else if ((event.key === "Enter" || event.key === "Tab") && marked()) take(marked());
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }, true);

  // The field keeps the focus while a person is pressed.
  list.addEventListener("mousedown", (event) => event.preventDefault());
  list.addEventListener("click", ({ target }) => take(target instanceof Element ? target.closest("[role=option]") : null));
})();
