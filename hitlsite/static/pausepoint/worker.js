// The service worker. It keeps one page for when there is no connection, with its styles and scripts, and nothing else: no
// page with a request is ever stored.
"use strict";

const worker = /** @type {ServiceWorkerGlobalScope} */ (/** @type {unknown} */ (self));
const SHELL = "pausepoint-shell-1", OFFLINE = "/offline/";

async function store() {
  const shell = await caches.open(SHELL);
  // Without cookies, so that the page is that of no one.
  const page = await fetch(OFFLINE, { credentials: "omit", cache: "reload" });
  if (!page.ok) throw new Error(`${OFFLINE}: ${page.status}`);
  const files = [...(await page.clone().text()).matchAll(/(?:href|src)="(\/static\/[^"]+)"/g)].map((found) => found[1]);
  await Promise.all([shell.put(OFFLINE, page), shell.addAll([...new Set(files)])]);
}

worker.addEventListener("install", (event) => {
  worker.skipWaiting();
  event.waitUntil(store());
});

worker.addEventListener("activate", (event) => {
  const old = async () => (await caches.keys()).filter((name) => name !== SHELL);
  event.waitUntil(old().then((names) => Promise.all(names.map((name) => caches.delete(name)))).then(() => worker.clients.claim()));
});

/** @param {RequestInfo} request */
const stored = async (request) => (await caches.match(request)) ?? Response.error();

worker.addEventListener("fetch", (event) => {
  const { request } = event, { origin, pathname } = new URL(request.url);
  if (request.method !== "GET" || origin !== worker.location.origin) return;
  if (request.mode === "navigate") event.respondWith(fetch(request).catch(() => stored(OFFLINE)));
  else if (pathname.startsWith("/static/")) event.respondWith(fetch(request).catch(() => stored(request)));
});

// A message holds a title, a body, a path to open, and a tag: a newer message of the same tag replaces the older one.
worker.addEventListener("push", (event) => {
  const { title, body, url, tag } = /** @type {PushMessageData} */ (event.data).json();
  event.waitUntil(worker.registration.showNotification(title, { body, tag, data: { url }, icon: "/static/pausepoint/icon-192.png" }));
});

worker.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const address = new URL(event.notification.data.url, worker.location.origin);
  if (address.origin === worker.location.origin) event.waitUntil(show(address.href));
});

/** @param {string} address */
async function show(address) {
  const open = await worker.clients.matchAll({ type: "window" });
  const page = open.find((found) => found.url === address);
  await (page ? page.focus() : worker.clients.openWindow(address));
}
