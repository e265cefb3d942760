// The title counts what waits for this person. Notifications by the browser: asked for by a press alone, and shown only while
// nobody looks at the page. They hold a title and a tool, never what was asked.
(function () {
  "use strict";

  const KEY = "pausepoint.notifications", COUNT = "pausepoint.waiting", MANY = 3;
  const told = new Set();

  // --- The title. Pages that show no counts learn them from what is pushed, and carry them along in their tab.
  let waiting = 0;
  function count(element) {
    // What is pushed says it where it may have changed.
    if (element?.dataset.waiting !== undefined) {
      waiting = Number(element.dataset.waiting) || 0;
      keep(sessionStorage, COUNT, `${who()} ${waiting}`);
    }
    const plain = document.title.replace(/^\(\d+\+?\) /, "");
    const title = waiting ? `(${waiting}) ${plain}` : plain;
    if (document.title !== title) document.title = title;
  }

  function who() {
    return document.querySelector(".who")?.textContent || "";
  }

  function carried() {
    const [name, number] = kept(sessionStorage, COUNT).split(/ (?=\d+$)/);
    return name === who() ? Number(number) || 0 : 0;
  }

  // A browser may forbid its stores; then nothing is remembered, and all else works.
  function kept(store, key) {
    try { return store.getItem(key) || ""; } catch { return ""; }
  }
  function keep(store, key, value) {
    try { store.setItem(key, value); } catch { return; }
  }

  // --- The switch.
  const able = "Notification" in window && window.isSecureContext;

  function on() {
    return able && Notification.permission === "granted" && kept(localStorage, KEY) === "on";
  }

  function show() {
    const button = document.getElementById("notify");
    if (!button || !able) return;
    const blocked = Notification.permission === "denied";
    button.hidden = false;
    button.disabled = blocked;
    button.title = blocked ? button.dataset.blocked : "";
    button.setAttribute("aria-pressed", String(on()));
    button.textContent = on() ? button.dataset.on : button.dataset.off;
  }

  async function press() {
    if (on()) keep(localStorage, KEY, "off");
    else if ((await Notification.requestPermission()) === "granted") keep(localStorage, KEY, "on");
    show();
  }

  // --- What is pushed.
  function tell(news, words) {
    try {
      const note = new Notification(news.dataset.title, { body: words, tag: news.dataset.request, icon: document.querySelector("link[rel=icon]").href });
      note.onclick = () => { window.focus(); location.assign(news.dataset.url); note.close(); };
    } catch {
      // Some browsers (Android's) only let a service worker notify.
      document.getElementById("notify").hidden = true;
    }
  }

  function heard(text) {
    const pushed = document.createElement("template");
    pushed.innerHTML = text;
    count(pushed.content.querySelector("#counts"));
    if (!document.hidden || !on()) return;
    const words = document.getElementById("notify").dataset;
    const fresh = [...pushed.content.querySelectorAll(".browser-notification")].filter((news) => !told.has(news.dataset.request));
    for (const news of fresh) told.add(news.dataset.request);
    if (fresh.length > MANY) {
      // A page that was away for long would shower whoever left it open.
      fresh[0].dataset.title = `${words.many}: ${fresh.length}`;
      fresh[0].dataset.url = "/";
      tell(fresh[0], "");
      return;
    }
    for (const news of fresh) tell(news, [words.waits, news.dataset.tool].filter(Boolean).join(": "));
  }

  document.addEventListener("htmx:wsBeforeMessage", (event) => heard(event.detail.message));
  document.addEventListener("htmx:afterSettle", () => count(document.getElementById("counts")));
  addEventListener("storage", (event) => { if (event.key === KEY) show(); });
  document.addEventListener("DOMContentLoaded", () => {
    waiting = carried();
    count(document.getElementById("counts"));
    document.getElementById("notify")?.addEventListener("click", press);
    show();
  });
})();
