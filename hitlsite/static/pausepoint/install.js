// Register the service worker, which makes the pages an app that can be installed.
(() => {
  "use strict";

  if (!("serviceWorker" in navigator)) return;
  // A browser may forbid workers, for example in a private window; every page works without.
  addEventListener("load", () => { navigator.serviceWorker.register("/worker.js").catch(() => undefined); });
})();
