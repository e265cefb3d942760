// The page of the API: search the operations, and try one with one's own session.
(() => {
  "use strict";

  // --- Search: an operation is found by any text of its section.
  const search = document.getElementById("api-search"), none = document.getElementById("api-none");
  const sections = [...document.querySelectorAll(".operation")];
  /** @param {Element} section */
  const linkOf = (section) => /** @type {HTMLElement} */ (document.querySelector(`[data-operation="${section.id}"]`));
  function find() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let found = 0;
    for (const section of sections) {
      const text = section.textContent.toLowerCase(), shown = words.every((word) => text.includes(word));
      section.hidden = !shown;
      linkOf(section).hidden = !shown;
      found += Number(shown);
    }
    none.hidden = found > 0;
  }
  search.addEventListener("input", find);

  // --- Try it.
  const headers = JSON.parse(document.body.getAttribute("hx-headers") || "{}");

  /** @param {HTMLFormElement} form */
  function addressOf(form) {
    let path = form.dataset.path;
    const query = new URLSearchParams();
    for (const field of form.querySelectorAll("input[data-in]")) {
      if (field.dataset.in === "path") path = path.replace(`{${field.name}}`, encodeURIComponent(field.value));
      else if (field.value) query.set(field.name, field.value);
    }
    return query.size ? `${path}?${query}` : path;
  }

  /** @param {HTMLFormElement} form @param {number} status @param {string} text */
  function show(form, status, text) {
    const box = form.querySelector(".try-answer"), badge = document.createElement("span"), body = document.createElement("pre");
    badge.className = "badge";
    badge.classList.toggle("is-error", status === 0 || status >= 400);
    badge.textContent = status ? String(status) : gettext("No answer");
    body.textContent = text;
    body.tabIndex = 0;
    box.replaceChildren(badge, body);
  }

  /** @param {string} text */
  function readable(text) {
    try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; }
  }

  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (!form.matches(".try form")) return;
    event.preventDefault();
    const body = form.querySelector("textarea[data-in=body]"), button = /** @type {HTMLButtonElement} */ (form.querySelector("button"));
    /** @type {RequestInit & { headers: Record<string, string> }} */
    const sent = { method: form.dataset.method, headers: { ...headers, Accept: "application/json" } };
    if (body) {
      sent.body = body.value;
      sent.headers["Content-Type"] = "application/json";
    }
    button.disabled = true;
    try {
      const answer = await fetch(addressOf(form), sent);
      show(form, answer.status, readable(await answer.text()));
    } catch {
      show(form, 0, gettext("The server did not answer. Check your connection and try again."));
    } finally {
      button.disabled = false;
    }
  });
})();
