// The page of the API: search the operations, and try one with one's own session.
(function () {
  "use strict";

  // --- Search: an operation is found by any text of its section.
  const search = document.getElementById("api-search"), none = document.getElementById("api-none");
  const sections = [...document.querySelectorAll(".operation")];
  function find() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let found = 0;
    for (const section of sections) {
      const text = section.textContent.toLowerCase(), shown = words.every((word) => text.includes(word));
      section.hidden = !shown;
      document.querySelector(`[data-operation="${section.id}"]`).hidden = !shown;
      found += shown;
    }
    none.hidden = found > 0;
  }
  search.hidden = false;
  search.addEventListener("input", find);

  // --- Try it.
  for (const box of document.querySelectorAll(".try")) box.hidden = false;
  const headers = JSON.parse(document.body.getAttribute("hx-headers") || "{}");

  function addressOf(form) {
    let path = form.dataset.path;
    const query = new URLSearchParams();
    for (const field of form.querySelectorAll("input[data-in]")) {
      if (field.dataset.in === "path") path = path.replace(`{${field.name}}`, encodeURIComponent(field.value));
      else if (field.value) query.set(field.name, field.value);
    }
    return query.size ? `${path}?${query}` : path;
  }

  function show(form, status, text) {
    const box = form.querySelector(".try-answer"), badge = document.createElement("span"), body = document.createElement("pre");
    badge.className = "badge";
    badge.classList.toggle("is-error", status === 0 || status >= 400);
    badge.textContent = status || gettext("No answer");
    body.textContent = text;
    body.tabIndex = 0;
    box.replaceChildren(badge, body);
  }

  function readable(text) {
    try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; }
  }

  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (!form.matches(".try form")) return;
    event.preventDefault();
    const body = form.querySelector("textarea[data-in=body]"), button = form.querySelector("button");
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
