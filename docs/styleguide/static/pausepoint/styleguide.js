// Shows the contrast of each swatch in the current theme, and opens the example dialog.
(() => {
  "use strict";

  /** @param {string} colour */
  const numbers = (colour) => (colour.match(/[\d.]+/g) ?? []).slice(0, 3).map(Number);
  /** @param {number} part */
  const linear = (part) => (part / 255 <= 0.03928 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4);
  /** @param {number[]} colour */
  const light = ([red, green, blue]) => 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);

  /** @param {number[]} ink @param {number[]} ground */
  function contrast(ink, ground) {
    const [dark, bright] = [light(ink), light(ground)].sort((a, b) => a - b);
    return (bright + 0.05) / (dark + 0.05);
  }

  function measure() {
    for (const swatch of document.querySelectorAll(".swatch[data-least]")) {
      const ratio = contrast(numbers(getComputedStyle(swatch).color), numbers(getComputedStyle(/** @type {HTMLElement} */ (swatch.parentElement)).backgroundColor));
      const shown = swatch.querySelector(".ratio") || swatch.appendChild(document.createElement("span"));
      shown.className = "ratio";
      shown.textContent = `${ratio.toFixed(1)} ${ratio >= Number(swatch.dataset.least) ? "✓" : "✗"}`;
    }
  }

  measure();
  // The example cards with an error take the focus; start at the top of the page instead.
  addEventListener("load", () => {
    document.activeElement?.blur();
    if (!location.hash) scrollTo({ top: 0 });
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", measure);
  new MutationObserver(measure).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  const dialog = document.getElementById("styleguide-dialog");
  document.getElementById("styleguide-open").addEventListener("click", () => dialog.showModal());
})();
