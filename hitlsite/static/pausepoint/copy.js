// Buttons that copy the text beside them: keys and secrets that are shown once, links and commands.
(() => {
  "use strict";

  for (const button of document.querySelectorAll("[data-copy-text]")) {
    if (!navigator.clipboard) continue;
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(/** @type {HTMLElement} */ (button.parentElement).querySelector("pre").textContent);
      document.getElementById("announcements").textContent = button.dataset.copied;
      /** @type {ChildNode} */ (button.lastChild).textContent = button.dataset.copied;
    });
  }
})();
