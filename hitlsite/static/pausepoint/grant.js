// The panel of *Approve for…*: Escape closes it like *Go back*, and the focus returns to the button that opened it.
(() => {
  "use strict";

  const goBack = () => [...document.querySelectorAll("a[data-closes]")].find((link) => link.checkVisibility());
  // What someone is writing is not thrown away: the first Escape leaves such a field.
  /** @param {Element | null} element */
  const isWriting = (element) => element instanceof HTMLTextAreaElement || (element instanceof HTMLInputElement && !["radio", "checkbox"].includes(element.type))
    ? element.value !== element.defaultValue : false;

  document.addEventListener("keydown", (event) => {
    const { typing } = window.pausepoint;
    if (event.key !== "Escape" || event.defaultPrevented || typing.isComposing(event)) return;
    const link = goBack(), active = document.activeElement;
    if (!link || document.querySelector("dialog[open]") || typing.isInMenu(active) || isWriting(active)) return;
    // A field elsewhere, such as the search, has an Escape of its own.
    if (typing.isField(active) && !link.closest(".granting")?.contains(active)) return;
    event.preventDefault();
    event.stopPropagation();
    // Else the field that is gone in a moment would swallow the next key, as the rest of a sentence.
    if (active instanceof HTMLElement) active.blur();
    link.click();
  }, true);

  // Whoever closes it goes on where they opened it.
  document.addEventListener("click", (event) => {
    const card = event.target.closest?.("a[data-closes]")?.closest(".request");
    if (!card) return;
    const focus = () => {
      const fresh = document.getElementById(card.id), link = fresh?.querySelector("a[data-grants]");
      if (fresh?.querySelector(".granting")) return;
      document.removeEventListener("htmx:afterSettle", focus);
      link?.focus({ preventScroll: true });
    };
    document.addEventListener("htmx:afterSettle", focus);
  });
})();
