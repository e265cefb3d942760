// Conveniences of settings: a theme that shows before it is saved, the browser's time zone, and key fields from
// the last request. All forms work without them.
(() => {
  "use strict";

  // --- On a phone the pages stand in one line, which may have to scroll to the current one.
  document.querySelector(".settings-pages [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

  // --- Show a theme and a density as soon as they are chosen.
  document.querySelector("[data-preview]")?.addEventListener("change", ({ target }) => {
    if (target.name === "theme" || target.name === "density") document.documentElement.dataset[target.name] = target.value;
  });

  // --- Offer the time zone of the browser.
  const zones = document.querySelector("select[name=time_zone]"), offer = document.getElementById("zone-offer");
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zones && offer && zones.value !== own && [...zones.options].some((option) => option.value === own)) {
    offer.textContent = interpolate(gettext("Use %(zone)s, the time zone of this browser"), { zone: own }, true);
    offer.hidden = false;
    offer.addEventListener("click", () => {
      zones.value = own;
      offer.hidden = true;
      zones.focus();
    });
  }

  // --- Add a field of the last request to the key fields.
  const fields = document.querySelector("textarea[name=key_fields]");
  for (const button of document.querySelectorAll("button[data-pointer]")) {
    if (!fields) continue;
    button.hidden = false;
    button.addEventListener("click", () => {
      const lines = fields.value.split("\n").filter((line) => line.trim());
      if (!lines.includes(button.dataset.pointer)) lines.push(button.dataset.pointer);
      fields.value = lines.join("\n");
      button.disabled = true;
      fields.dispatchEvent(new Event("input", { bubbles: true }));
    });
  }

  // --- A browser notification as a test.
  const test = document.querySelector("[data-test-notification]");
  if (test && "Notification" in window && window.isSecureContext) {
    test.hidden = false;
    test.addEventListener("click", async () => {
      if ((await Notification.requestPermission()) === "granted") {
        try { new Notification(document.title, { body: test.dataset.testNotification }); } catch { test.hidden = true; }
      } else document.getElementById("announcements").textContent = test.title = test.dataset.blocked;
    });
  }

  // --- From a fault of a document to its line, which is selected.
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-line]"), field = document.getElementById("document");
    if (!link || !(field instanceof HTMLTextAreaElement)) return;
    event.preventDefault();
    const lines = field.value.split("\n"), line = Math.min(Number(link.dataset.line), lines.length) - 1;
    const start = lines.slice(0, line).reduce((length, each) => length + each.length + 1, 0);
    field.setSelectionRange(start, start + lines[line].length);
    field.focus();
    // Long lines are wrapped, so this is about the place.
    field.scrollTop = field.scrollHeight * (line / lines.length) - field.clientHeight / 3;
  });

  // --- A rule that is not in the draft yet is stored nowhere: leaving its form asks first.
  let isUnsaved = document.querySelector("form.builder [aria-invalid=true]") !== null;
  document.addEventListener("input", (event) => { isUnsaved ||= Boolean(event.target.closest?.("form.builder")); });
  document.addEventListener("submit", () => { isUnsaved = false; });
  addEventListener("beforeunload", (event) => { if (isUnsaved) event.preventDefault(); });
})();
