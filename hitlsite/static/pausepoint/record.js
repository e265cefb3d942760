// The print button of a decision record, which needs scripts; without them, the browser's own menu prints.
"use strict";
{
  const button = document.getElementById("print");
  button.hidden = false;
  button.addEventListener("click", () => window.print());
}
