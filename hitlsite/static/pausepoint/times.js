// Times relative to now: "4 minutes ago", and for deadlines "in 4 minutes", with the exact time in the title. Beside fields for
// a time in UTC, the same time in the person's time zone.
(function () {
  "use strict";

  const words = new Intl.RelativeTimeFormat(document.documentElement.lang, { numeric: "auto" });
  const brief = new Intl.RelativeTimeFormat(document.documentElement.lang, { numeric: "always", style: "narrow" });
  const DAY = 86400, UNITS = [["hour", 3600], ["minute", 60]];

  // Count calendar days in the person's time zone: what is 25 hours away may be the day after tomorrow.
  function days(moment) {
    const [then, today] = [moment, new Date()].map((day) => Date.UTC(day.getFullYear(), day.getMonth(), day.getDate()));
    return (then - today) / (DAY * 1000);
  }

  function relative(moment, seconds) {
    if (Math.abs(seconds) >= DAY) return words.format(days(moment), "day");
    for (const [unit, size] of UNITS) {
      if (Math.abs(seconds) >= size) return words.format(Math.trunc(seconds / size), unit);
    }
    return Math.abs(seconds) < 10 && seconds <= 0 ? gettext("just now") : words.format(Math.trunc(seconds), "second");
  }

  // In few characters, for the rows of a list: “3h ago”, “in 4m”.
  function briefly(seconds) {
    for (const [unit, size] of [["day", DAY], ...UNITS]) {
      if (Math.abs(seconds) >= size) return brief.format(Math.trunc(seconds / size), unit);
    }
    return seconds <= 0 ? gettext("just now") : brief.format(1, "minute");
  }

  function refresh() {
    for (const time of document.querySelectorAll("time[data-ago], time[data-in]")) {
      const moment = new Date(time.dateTime);
      const seconds = (moment - Date.now()) / 1000;
      const shown = time.dataset.ago !== undefined ? Math.min(seconds, 0) : seconds;
      const text = time.dataset.brief !== undefined ? briefly(shown) : relative(moment, shown);
      if (time.textContent !== text) time.textContent = text;
      if (!time.dataset.zoned) {
        time.title = `${moment.toLocaleString()} (${time.title})`;
        time.dataset.zoned = "yes";
      }
      time.classList.toggle("soon", time.dataset.in !== undefined && seconds < 300);
    }
  }

  function showLocalTime(field) {
    const moment = new Date(`${field.value}Z`);
    let same = field.parentElement.querySelector("output.same-time");
    if (!same) {
      same = document.createElement("output");
      same.className = "same-time hint";
      same.htmlFor.add(field.id);
      field.parentElement.append(same);
    }
    const shown = moment.getTimezoneOffset() ? moment.toLocaleString([], { dateStyle: "full", timeStyle: "short" }) : "";
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    same.textContent = shown && interpolate(gettext("%(time)s in your time zone (%(zone)s)"), { time: shown, zone }, true);
  }

  const MOMENTS = "input[type=datetime-local]";

  function ready(root) {
    for (const field of root.querySelectorAll(MOMENTS)) showLocalTime(field);
  }

  document.addEventListener("input", (event) => {
    if (event.target.matches(MOMENTS)) showLocalTime(event.target);
  });
  document.addEventListener("DOMContentLoaded", () => ready(document));
  document.addEventListener("htmx:load", (event) => ready(event.detail.elt.parentElement || document));

  setInterval(refresh, 1000);
  document.addEventListener("DOMContentLoaded", refresh);
  document.addEventListener("htmx:wsAfterMessage", refresh);
  document.addEventListener("htmx:afterSettle", refresh);
})();
