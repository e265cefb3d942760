// The command palette (Ctrl+K), and the keys that go to a page (g i, g w, g c), on every page.
(() => {
  "use strict";

  const PAGES = document.getElementById("palette-pages");
  if (!PAGES) return;

  /** @param {string} words @param {Record<string, unknown>} values */
  const say = (words, values) => interpolate(words, values, true);
  const ICONS = PAGES.dataset.icons, MAX = 12, PATIENCE = 1500;
  const pages = [...PAGES.content.querySelectorAll("a")].map((link) => ({
    label: link.textContent.trim(), hint: link.dataset.hint ?? "", icon: link.dataset.icon ?? "", url: link.getAttribute("href") ?? "", key: link.dataset.key,
  }));

  // --- g and a letter.
  let going = 0;
  const isGoing = () => Date.now() - going < PATIENCE;
  window.pausepoint.going = isGoing;
  document.addEventListener("keydown", (event) => {
    const { isField, isInMenu, isComposing, keyOf } = window.pausepoint.typing, key = keyOf(event);
    if (key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey) {
      event.preventDefault();
      if (dialog?.open) dialog.close();
      else show();
      return;
    }
    if (PAGES.dataset.shortcuts === "off" || turnedOff() || event.defaultPrevented || event.repeat) return;
    if (event.ctrlKey || event.altKey || event.metaKey || isComposing(event)) return;
    if (isField(event.target) || isInMenu(event.target) || document.querySelector("dialog[open]")) return;
    if (isGoing()) {
      going = 0;
      const page = pages.find((one) => one.key === key);
      if (page) location.assign(page.url);
      // Whatever was pressed after g must not do something else.
      event.preventDefault();
      event.stopImmediatePropagation();
    } else if (key === "g") {
      going = Date.now();
      event.preventDefault();
      event.stopImmediatePropagation();
    }
  }, true);
  function turnedOff() {
    try { return localStorage.getItem("pausepoint.keys") === "off"; } catch { return false; }
  }

  // --- The palette: what fits the words, pages and actions first, requests from the server last.
  /** @typedef {{ label: string, hint: string, icon: string, url?: string, key?: string, decides?: boolean, act?: () => void }} Item */
  /** @type {HTMLDialogElement} */
  let dialog;
  /** @type {HTMLInputElement} */
  let field;
  /** @type {HTMLElement} */
  let results;
  /** @type {Item[]} */
  let offered = [];
  /** @type {Item[]} */
  let found = [];
  /** @type {Item[] | null} */
  let loaded = null;
  let chosen = 0, moved = false;

  /**
   * @template {keyof HTMLElementTagNameMap} Name
   * @param {Name} name
   * @param {Record<string, string>} attributes
   * @param {(string | Node)[]} inside
   */
  function element(name, attributes = {}, ...inside) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...inside);
    return made;
  }
  /** @param {string} name */
  function icon(name) {
    const space = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(space, "svg"), use = document.createElementNS(space, "use");
    svg.setAttribute("class", "icon");
    svg.setAttribute("width", "16");
    svg.setAttribute("height", "16");
    svg.setAttribute("aria-hidden", "true");
    use.setAttribute("href", `${ICONS}#${name}`);
    svg.append(use);
    return svg;
  }

  function build() {
    field = element("input", {
      type: "text", role: "combobox", "aria-expanded": "true", "aria-controls": "palette-results", autocomplete: "off", spellcheck: "false",
      "aria-label": gettext("Find a page, view, person, action or request"), placeholder: gettext("Find a page, view, person, action or request"),
    });
    results = element("ul", { id: "palette-results", role: "listbox", "aria-label": gettext("Results") });
    dialog = element("dialog", { class: "dialog palette", "aria-label": gettext("Command palette") }, element("div", { class: "palette-field" }, icon("search"), field), results);
    document.body.append(dialog);
    field.addEventListener("input", () => { moved = false; list(); search(); });
    dialog.addEventListener("keydown", keys);
    dialog.addEventListener("click", (event) => {
      const option = /** @type {Element} */ (event.target).closest("[role=option]");
      if (option) run(Number(option.dataset.number), event.ctrlKey || event.metaKey);
      else if (event.target === dialog) dialog.close();
    });
  }

  async function show() {
    if (!dialog) build();
    field.value = "";
    found = [];
    moved = false;
    list();
    dialog.showModal();
    loaded ??= await ask("");
    list();
  }

  /** @param {string} q */
  async function ask(q) {
    try {
      const response = await fetch(`${PAGES.dataset.source}?q=${encodeURIComponent(q)}`, { headers: { Accept: "application/json" } });
      return response.ok && !response.redirected ? (await response.json()).items : [];
    } catch {
      return [];
    }
  }

  let soon = 0;
  function search() {
    clearTimeout(soon);
    const q = field.value.trim();
    if (q.length < 2) {
      found = [];
      return;
    }
    soon = setTimeout(async () => {
      const items = await ask(q);
      if (field.value.trim() !== q) return;
      found = items;
      list();
    }, 120);
  }

  // What can be done here: the buttons of the page that have a key. Those that decide follow the rules of their keys.
  const DECIDES = new Set(["a", "r"]), LEAST = 5;
  /** @returns {Item[]} */
  function actions() {
    const shown = document.getElementById("detail-body") ?? document.getElementById("request-detail");
    const buttons = [...(shown?.querySelectorAll("button[data-key]") ?? [])].filter((button) => button.checkVisibility() && !button.closest("[inert]"));
    /** @type {Item[]} */
    const made = buttons.map((button) => ({
      label: button.textContent.trim(), hint: gettext("Action"), icon: "zap", decides: DECIDES.has(button.dataset.key),
      act: () => (DECIDES.has(button.dataset.key) ? window.pausepoint.decide(button.dataset.key) : button.click()),
    }));
    for (const [id, glyph] of [["detail-snooze", "clock"], ["keys-open", "keyboard"]]) {
      const button = document.getElementById(id);
      if (button?.checkVisibility()) made.push({ label: button.querySelector("span").textContent.trim(), hint: gettext("Action"), icon: glyph, act: () => button.click() });
    }
    return made;
  }

  // The themes of the user menu, whose buttons apply and store them.
  function themes() {
    return [...document.querySelectorAll("#user-menu [data-themes] button")].map((button) => ({
      label: say(gettext("Theme: %(name)s"), { name: button.textContent.trim() }), hint: gettext("Action"), icon: "sun", act: () => button.click(),
    }));
  }

  // How well an item fits: 0 if its label begins with the first word, 1 if it has every word, 2 if it has the letters of each
  // word in their order, near each other ("aprove", "wflow"), undefined if it does not fit.
  /** @param {Item} item @param {string[]} words */
  function rank(item, words) {
    const label = item.label.toLowerCase(), text = `${label} ${item.hint.toLowerCase()}`;
    if (words.every((word) => text.includes(word))) return words.length && label.startsWith(words[0]) ? 0 : 1;
    if (item.decides && words.join("").length < label.length - 2) return undefined;
    return words.every((word) => text.includes(word) || label.split(/\s+/).some((part) => isNear(word, part))) ? 2 : undefined;
  }
  /** @param {string} word @param {string} part */
  function isNear(word, part) {
    let place = -1;
    const isInside = word[0] === part[0] && [...word].every((letter) => {
      place = part.indexOf(letter, place + 1);
      return place >= 0;
    });
    return isInside && word.length > 2 && place - word.length < 4;
  }

  function list() {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const known = [...actions(), ...pages, ...themes(), ...(loaded ?? [])].flatMap((item) => {
      const order = rank(item, words);
      return order === undefined ? [] : [{ order, item }];
    });
    known.sort((one, other) => one.order - other.order);
    const before = offered[chosen];
    offered = [...known.slice(0, MAX).map(({ item }) => item), ...found];
    // Enter decides nothing whose name was not typed: some press it at once, or meant another word that begins alike.
    if (!moved) chosen = offered.findIndex(({ decides, label }) => !decides || field.value.trim().length >= Math.min(LEAST, label.length));
    else chosen = Math.max(0, offered.findIndex(({ label, hint }) => label === before?.label && hint === before.hint));
    results.replaceChildren(...offered.map((item, number) => element(
      "li", { role: "option", id: `palette-${number}`, "data-number": String(number), "aria-selected": String(number === chosen) },
      icon(item.icon), element("span", { class: "palette-label" }, item.label), element("span", { class: "palette-hint" }, item.hint, ...(item.key ? [" ", element("kbd", {}, "g"), " ", element("kbd", {}, item.key)] : [])),
    )));
    if (!offered.length) results.append(element("li", { class: "palette-none", role: "presentation" }, gettext("No matches.")));
    mark();
  }

  function mark() {
    field.setAttribute("aria-activedescendant", chosen < 0 ? "" : `palette-${chosen}`);
    for (const option of results.querySelectorAll("[role=option]")) {
      const isChosen = Number(option.dataset.number) === chosen;
      option.setAttribute("aria-selected", String(isChosen));
      if (isChosen) option.scrollIntoView({ block: "nearest" });
    }
  }

  /** @param {KeyboardEvent} event */
  function keys(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && offered.length) {
      event.preventDefault();
      moved = true;
      chosen = (Math.max(chosen, step > 0 ? -1 : 0) + step + offered.length) % offered.length;
      mark();
    } else if (event.key === "Enter" && !event.repeat && !window.pausepoint.typing.isComposing(event)) {
      event.preventDefault();
      run(chosen, event.ctrlKey || event.metaKey);
    }
  }

  /** @param {number} number @param {boolean} elsewhere */
  function run(number, elsewhere) {
    const item = offered[number];
    if (!item) return;
    dialog.close();
    if (item.act) item.act();
    else if (elsewhere) window.open(item.url, "_blank", "noopener");
    else if (item.url) location.assign(item.url);
  }

  document.addEventListener("click", (event) => {
    if (event.target.closest?.("[data-palette]")) show();
  });
})();
