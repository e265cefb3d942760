// Passkeys: the browser makes or uses one, and its form is sent with the result. Where that is impossible, the button stays hidden.
(() => {
  "use strict";

  // An IP address can have none.
  const possible = window.isSecureContext && "PublicKeyCredential" in window && !/^[\d.]+$|^\[/.test(location.hostname);

  /** @param {HTMLFormElement} form */
  async function optionsOf(form) {
    if (form.dataset.options) return JSON.parse(form.dataset.options);
    const response = await fetch(form.action, { headers: { Accept: "application/json" } });
    if (!response.ok) throw new Error("no challenge");
    return response.json();
  }

  /** @param {HTMLFormElement} form */
  async function credentialOf(form) {
    const options = await optionsOf(form);
    return form.dataset.passkey === "add"
      ? navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) })
      : navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });
  }

  for (const form of document.querySelectorAll("form[data-passkey]")) {
    const button = form.querySelector("button[type=button]:not([data-copy-text])");
    const field = form.querySelector("input[name=credential]"), failed = form.querySelector("[data-failed]");
    if (!possible || !button || !field || !failed) continue;
    form.querySelector("[data-impossible]")?.remove();
    button.hidden = false;
    button.addEventListener("click", async () => {
      button.disabled = failed.hidden = true;
      try {
        const credential = await credentialOf(form);
        field.value = JSON.stringify(credential);
        form.submit();
      } catch {
        failed.hidden = button.disabled = false;
      }
    });
  }
})();
