// The count of waiting requests in the page's title, and browser notifications. These are enabled by a button and shown only
// while the page is hidden. They hold the title and the tool of a request, never its input.
(() => {
  "use strict";

  const KEY = "pausepoint.notifications", COUNT = "pausepoint.waiting", MANY = 3;
  const notified = new Set();

  // --- The title. Pages without counts take them from pushes, and keep them for the next page in this tab.
  let waiting = 0;
  /** @param {HTMLElement | null} element */
  function count(element) {
    // Pushes include the number only if it may have changed.
    if (element?.dataset.waiting !== undefined) {
      waiting = Number(element.dataset.waiting) || 0;
      store(sessionStorage, COUNT, `${username()} ${waiting}`);
    }
    const plain = document.title.replace(/^\(\d+\+?\) /, "");
    const title = waiting ? `(${waiting}) ${plain}` : plain;
    if (document.title !== title) document.title = title;
  }

  function username() {
    return document.querySelector(".who")?.textContent || "";
  }

  function storedCount() {
    const [name, number] = stored(sessionStorage, COUNT).split(/ (?=\d+$)/);
    return name === username() ? Number(number) || 0 : 0;
  }

  // A browser may forbid storage; everything else still works.
  /** @param {Storage} storage @param {string} key */
  function stored(storage, key) {
    try { return storage.getItem(key) || ""; } catch { return ""; }
  }
  /** @param {Storage} storage @param {string} key @param {string} value */
  function store(storage, key, value) {
    try { storage.setItem(key, value); } catch { return; }
  }

  // --- The button.
  const supported = "Notification" in window && window.isSecureContext;

  function on() {
    return supported && Notification.permission === "granted" && stored(localStorage, KEY) === "on";
  }

  function show() {
    const button = document.getElementById("notify");
    if (!button || !supported) return;
    const blocked = Notification.permission === "denied";
    button.hidden = false;
    button.disabled = blocked;
    button.title = blocked ? button.dataset.blocked : "";
    button.setAttribute("aria-pressed", String(on()));
    button.querySelector("span").textContent = on() ? button.dataset.on : button.dataset.off;
  }

  async function press() {
    if (on()) store(localStorage, KEY, "off");
    else if ((await Notification.requestPermission()) === "granted") store(localStorage, KEY, "on");
    show();
  }

  // --- Notifications for pushed requests.
  /** @param {HTMLElement} notification @param {string} body */
  function notify({ dataset }, body) {
    try {
      const shown = new Notification(dataset.title, { body, tag: dataset.request, icon: document.querySelector("link[rel=icon]").href });
      shown.onclick = () => { window.focus(); location.assign(dataset.url); shown.close(); };
    } catch {
      // Some browsers (Android's) only let a service worker notify.
      document.getElementById("notify").hidden = true;
    }
  }

  // --- What the person has chosen: kinds without notifications, and quiet hours, in which only critical requests notify.
  /** @param {DOMStringMap} notification @param {DOMStringMap} preferences */
  function wanted({ kind, priority }, { muted = "", quietFrom = "", quietUntil = "", timeZone }) {
    if (muted.split(" ").includes(`browser:${kind}`)) return false;
    if (!quietFrom || priority === "critical") return true;
    const now = new Date().toLocaleTimeString("en-GB", { timeZone, hour: "2-digit", minute: "2-digit" });
    const quiet = quietFrom < quietUntil ? quietFrom <= now && now < quietUntil : now >= quietFrom || now < quietUntil;
    return !quiet;
  }

  /** @param {string} text */
  function receive(text) {
    const pushed = document.createElement("template");
    pushed.innerHTML = text;
    count(pushed.content.querySelector("#counts"));
    if (!document.hidden || !on()) return;
    const words = document.getElementById("notify").dataset;
    const arrived = [...pushed.content.querySelectorAll(".browser-notification")];
    const fresh = arrived.filter((one) => !notified.has(one.dataset.request) && wanted(one.dataset, words));
    for (const { dataset } of fresh) notified.add(dataset.request);
    if (fresh.length > MANY) {
      // A page that reconnects after a long time shows one notification instead of many.
      fresh[0].dataset.title = `${words.many}: ${fresh.length}`;
      fresh[0].dataset.url = "/";
      notify(fresh[0], "");
      return;
    }
    for (const one of fresh) notify(one, [words.waits, one.dataset.tool].filter(Boolean).join(": "));
  }

  document.addEventListener("htmx:wsBeforeMessage", (event) => receive(event.detail.message));
  document.addEventListener("htmx:afterSettle", () => count(document.getElementById("counts")));
  addEventListener("storage", (event) => { if (event.key === KEY) show(); });
  document.addEventListener("DOMContentLoaded", () => {
    waiting = storedCount();
    count(document.getElementById("counts"));
    document.getElementById("notify")?.addEventListener("click", press);
    show();
  });
})();
