// The address of a request that is open in the inbox: on a narrow screen its pane takes the place of the list, which must not be
// painted before. So this script alone runs while the page is read; pane.js opens the request.
document.getElementById("inbox").classList.toggle("is-open", /^#([0-9a-f-]{36}|first)$/.test(location.hash));
