// Notifications on this device while its pages are closed: a switch in the settings, and a fresh subscription per session.
(() => {
  "use strict";

  const TOLD = "pausepoint.push", { session } = document.body.dataset;
  const button = document.getElementById("push-switch");
  const headers = { ...JSON.parse(document.body.getAttribute("hx-headers") || "{}"), "X-Requested-With": "fetch" };
  const supported = "serviceWorker" in navigator && "PushManager" in window && "Notification" in window;
  if (!supported || !headers["X-CSRFToken"]) return;

  /** @param {string} words */
  const announce = (words) => { document.getElementById("announcements").textContent = words; };
  /** @param {ArrayBuffer} buffer */
  const encoded = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  async function current() {
    return (await navigator.serviceWorker.ready).pushManager.getSubscription();
  }

  /** @param {string} path @param {PushSubscription} subscription */
  async function send(path, subscription) {
    const body = new URLSearchParams({ endpoint: subscription.endpoint });
    for (const name of /** @type {const} */ (["p256dh", "auth"])) {
      body.set(name, encoded(/** @type {ArrayBuffer} */ (subscription.getKey(name))));
    }
    const answer = await fetch(path, { method: "POST", headers, body });
    if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  }

  // A subscription belongs to the session that told of it, so each new session tells again: also in the same tab, after a
  // log-in or a new password.
  async function tellOnce() {
    const subscription = Notification.permission === "granted" ? await current() : null;
    if (!subscription || sessionStorage.getItem(TOLD) === session) return;
    await send("/settings/notifications/subscribe/", subscription);
    sessionStorage.setItem(TOLD, session);
  }
  tellOnce().catch(() => undefined);

  if (!button) return;
  async function show() {
    const on = (await current()) !== null;
    button.hidden = false;
    button.setAttribute("aria-pressed", String(on));
    /** @type {ChildNode} */ (button.lastChild).textContent = on ? gettext("Stop notifying me on this device") : gettext("Notify me on this device");
  }

  async function toggle() {
    const subscription = await current();
    if (subscription) {
      await send("/settings/notifications/unsubscribe/", subscription);
      await subscription.unsubscribe();
    } else if ((await Notification.requestPermission()) === "granted") {
      const { pushManager } = await navigator.serviceWorker.ready;
      const made = await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: button.dataset.key });
      await send("/settings/notifications/subscribe/", made);
    } else announce(button.dataset.blocked);
  }

  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      await toggle();
      await show();
    } catch {
      announce(gettext("This device could not be subscribed. Its push service may be out of reach. Try again later."));
    } finally {
      button.disabled = false;
    }
  });
  show().catch(() => undefined);
})();
