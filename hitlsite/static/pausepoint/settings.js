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

  // --- Who sets quiet hours for the first time gets the browser's time zone offered.
  const zones = document.querySelector("[data-time-zone]");
  const from = zones?.querySelector("[name=quiet_from]"), zone = zones?.querySelector("select[name=time_zone]");
  from?.addEventListener("change", () => {
    const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
    if (zone?.value === "UTC" && [...zone.options].some((option) => option.value === own)) zone.value = own;
  }, { once: true });

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
})();
