// Snooze the selected request: the dialog, and a note when a snoozed request is back.
(() => {
  "use strict";

  const dialog = document.getElementById("snooze"), form = document.getElementById("snooze-form");
  const pane = window.pausepoint.pane;
  if (!dialog || !pane) return;

  /** @param {string} words */
  const announce = (words) => { document.getElementById("announcements").textContent = words; };
  form.elements.zone.value = document.body.dataset.zone || Intl.DateTimeFormat().resolvedOptions().timeZone;

  /** @param {string} id */
  function ask(id) {
    if (!id) return announce(gettext("No request is selected. Press j first."));
    if (pane.rowOf(id)?.matches(":not(.is-pending)")) return announce(gettext("Only waiting requests can be snoozed."));
    form.action = `/requests/${id}/snooze/`;
    form.dataset.request = id;
    const title = pane.rowOf(id)?.querySelector(".row-title") ?? document.getElementById(`request-title-${id}`);
    document.getElementById("snooze-request").textContent = title?.textContent.trim() ?? "";
    dialog.showModal();
  }
  // The key acts on the selected row, as all keys do; the button in the pane on the request that is open there.
  window.pausepoint.snooze = () => {
    const row = pane.selected();
    ask(row ? pane.idOf(row) : pane.current());
  };
  document.getElementById("detail-snooze").addEventListener("click", () => ask(pane.current()));

  dialog.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const button = /^[1-4]$/.test(event.key) && form.querySelectorAll("button[name=until]")[Number(event.key) - 1];
    if (button) {
      event.preventDefault();
      button.click();
    }
  });

  // The row goes at once and the next request opens; without a connection the form says so.
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const sent = new FormData(form, event.submitter), id = form.dataset.request;
    dialog.close();
    let response;
    try {
      response = await fetch(form.action, { method: "POST", body: sent, headers: { "HX-Request": "true" } });
    } catch {
      return announce(gettext("The server does not respond. Try again in a moment."));
    }
    if (!response.ok) return announce(gettext("The request was not snoozed. It may have been decided. Reload the page."));
    announce(sent.get("until") === "now" ? gettext("Shown in your inbox again.") : gettext("Snoozed."));
    const row = pane.rowOf(id), here = pane.current() === id;
    if (here) pane.openNext(id);
    if (pane.current() === id) pane.close();
    row?.remove();
    pane.show();
  });

  // --- When the first snoozed request comes back.
  const at = Date.parse(document.getElementById("inbox").dataset.wakes ?? "");
  const LONGEST = 2 ** 31 - 1;
  if (at && at - window.pausepoint.now() < LONGEST) setTimeout(() => {
    const note = document.getElementById("snooze-back");
    note.hidden = false;
    announce(note.textContent.trim());
  }, Math.max(0, at - window.pausepoint.now()) + 1000);
})();
