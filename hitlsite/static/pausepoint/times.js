// Times relative to now: "4 minutes ago", and for deadlines "in 4 minutes", with the exact time in the title. Fields for a time,
// which forms send in UTC, are shown and typed in the person's time zone.
(() => {
  "use strict";

  // The time zone of the person's settings, unless they have none or this browser does not know it.
  const zone = [document.body.dataset.zone, Intl.DateTimeFormat().resolvedOptions().timeZone].find(isKnown) ?? "UTC";
  window.pausepoint.zone = zone;

  /** @param {string | undefined} name */
  function isKnown(name) {
    try { return Boolean(name && new Intl.DateTimeFormat("en", { timeZone: name })); } catch { return false; }
  }
  /** @type {Map<string, Intl.DateTimeFormat>} */
  const clocks = new Map();
  /** @param {string} name */
  function clockOf(name) {
    const clock = clocks.get(name) ?? new Intl.DateTimeFormat("sv-SE", { timeZone: name, dateStyle: "short", timeStyle: "medium" });
    clocks.set(name, clock);
    return clock;
  }
  // As the field of a time has it, “2026-11-24T14:00:00”, in that zone or another.
  /** @param {Date} moment */
  const localOf = (moment, name = zone) => clockOf(name).format(moment).replace(" ", "T");
  /** @param {number} moment @param {string} name */
  const offsetAt = (moment, name) => Date.parse(`${localOf(new Date(moment), name)}Z`) - Math.floor(moment / 1000) * 1000;
  /** @param {string} text */
  function momentOf(text, name = zone) {
    const asUtc = Date.parse(`${text}Z`), near = asUtc - offsetAt(asUtc, name);
    return new Date(asUtc - offsetAt(near, name));
  }

  // As `approvals.text.times.relative_time` writes them. Some languages have a word for two days, which it has not.
  const words = new Intl.RelativeTimeFormat(document.documentElement.lang, { numeric: "always" });
  const byDay = new Intl.RelativeTimeFormat(document.documentElement.lang, { numeric: "auto" });
  const DAY = 86400, UNITS = /** @type {const} */ ([["hour", 3600], ["minute", 60]]);

  // Count calendar days in the person's time zone: what is 25 hours away may be the day after tomorrow.
  /** @param {Date} moment */
  function days(moment) {
    const [then, today] = [moment, new Date(window.pausepoint.now())].map((day) => Date.parse(localOf(day).slice(0, 10)));
    return (then - today) / (DAY * 1000);
  }

  /** @param {Date} moment @param {number} seconds */
  function relative(moment, seconds) {
    if (Math.abs(seconds) >= DAY) {
      const apart = days(moment);
      return (Math.abs(apart) < 2 ? byDay : words).format(apart, "day");
    }
    for (const [unit, size] of UNITS) {
      // What is 89 minutes away is not “in 1 hour”.
      const least = unit === "hour" && seconds > 0 ? 2 * size : size;
      if (Math.abs(seconds) >= least) return words.format(Math.trunc(seconds / size), unit);
    }
    return Math.abs(seconds) < 10 && seconds <= 0 ? gettext("just now") : words.format(Math.trunc(seconds), "second");
  }

  // As `approvals.pages.lists.short_times` writes them for the rows of a list: browsers shorten minutes to “m” in languages
  // where that stands for metres.
  /** @param {number} seconds */
  function briefly(seconds) {
    const past = seconds <= 0, apart = Math.abs(seconds), number = (/** @type {number} */ size) => ({ number: Math.trunc(apart / size) });
    if (apart < 60) return past ? gettext("just now") : gettext("in 1m");
    if (apart >= DAY) return interpolate(past ? gettext("%(number)sd ago") : gettext("in %(number)sd"), number(DAY), true);
    if (apart >= 3600) return interpolate(past ? gettext("%(number)sh ago") : gettext("in %(number)sh"), number(3600), true);
    return interpolate(past ? gettext("%(number)sm ago") : gettext("in %(number)sm"), number(60), true);
  }

  function refresh() {
    for (const time of document.querySelectorAll("time[data-ago], time[data-in]")) {
      const moment = new Date(time.dateTime);
      const seconds = (moment.getTime() - window.pausepoint.now()) / 1000;
      const shown = time.dataset.ago !== undefined ? Math.min(seconds, 0) : seconds;
      const text = time.dataset.brief !== undefined ? briefly(shown) : relative(moment, shown);
      if (time.textContent !== text) time.textContent = text;
      if (!time.dataset.zoned) {
        time.title = `${moment.toLocaleString(undefined, { timeZone: zone })} (${time.title})`;
        time.dataset.zoned = "yes";
      }
      time.classList.toggle("soon", time.dataset.in !== undefined && seconds < 300);
    }
  }

  // As `approvals.text.times.short_time` writes it: “Nov 24, 14:00”; with the year if it is another one. If it is to be exact, with
  // the year, and the seconds if there are some.
  /** @param {Date} moment */
  function shortTime(moment, exact = false) {
    const local = localOf(moment), other = exact || local.slice(0, 4) !== localOf(new Date(window.pausepoint.now())).slice(0, 4);
    const year = other ? /** @type {const} */ ("numeric") : undefined;
    const day = moment.toLocaleDateString(document.documentElement.lang, { timeZone: zone, month: "short", day: "numeric", year });
    return `${day}, ${local.slice(11, exact && !local.endsWith(":00") ? 19 : 16)}`;
  }
  // As `clock_time` writes it: without the day if it is today.
  window.pausepoint.clockTime = (moment) => {
    const local = localOf(moment);
    return local.slice(0, 10) === localOf(new Date(window.pausepoint.now())).slice(0, 10) ? local.slice(11, 16) : shortTime(moment);
  };

  // --- Times in values, which the server has put into the zone that it knew of. A push knows none.
  function zoneValues() {
    for (const time of document.querySelectorAll("time[data-exact]")) {
      if (time.dataset.exact === zone) continue;
      time.dataset.exact = zone;
      const moment = new Date(time.dateTime);
      time.textContent = time.dataset.short === undefined ? `${shortTime(moment, true)} (${zone})` : shortTime(moment);
    }
  }

  // --- The named field of a time is hidden, and keeps the time in UTC; beside it stands one for the same time here.
  const MOMENTS = "input[type=datetime-local][name]";
  // In which zone the server reads it: UTC, or what its form says.
  /** @param {HTMLInputElement} field */
  const storedZone = (field) => field.dataset.readIn ?? "UTC";

  /** @param {HTMLInputElement} field */
  function localize(field) {
    if (field.dataset.readIn !== undefined) {
      if (!isKnown(field.dataset.readIn)) return;
      for (const name of field.form?.querySelectorAll("[data-zone-name]") ?? []) name.textContent = zone;
    }
    const own = field.cloneNode();
    own.removeAttribute("name");
    own.dataset.local = field.value;
    const moment = field.value ? momentOf(field.value, storedZone(field)) : new Date(NaN);
    own.defaultValue = own.value = Number.isNaN(moment.getTime()) ? "" : localOf(moment);
    field.type = "hidden";
    for (const name of ["id", "required", "aria-describedby", "aria-invalid"]) field.removeAttribute(name);
    field.after(own);
    sayZone(own);
  }

  /** @param {HTMLInputElement} own */
  const fieldOf = (own) => /** @type {HTMLInputElement} */ (own.previousElementSibling);

  /** @param {HTMLInputElement} own */
  function sayZone(own) {
    const field = fieldOf(own), line = own.parentElement?.querySelector("[data-zone]");
    const utc = field.value && `${field.value.replace("T", " ")} UTC`;
    const words = utc ? gettext("in your time zone, %(zone)s (%(utc)s)") : gettext("in your time zone, %(zone)s");
    if (line) line.textContent = interpolate(words, { zone, utc }, true);
  }

  // Before all others that look at the form, such as the check while someone types.
  document.addEventListener("input", (event) => {
    const own = event.target;
    if (!own.matches?.("input[data-local]")) return;
    const field = fieldOf(own);
    // An hour exists twice when summer time ends: a time that is as it was stays exactly that.
    const moment = new Date(own.value), same = own.value === own.defaultValue || +moment === +new Date(own.defaultValue);
    field.value = same ? own.dataset.local ?? "" : own.value && !Number.isNaN(moment.getTime()) ? localOf(momentOf(own.value), storedZone(field)) : "";
    sayZone(own);
  }, true);

  /** @param {ParentNode} root */
  function ready(root) {
    for (const field of root.querySelectorAll(MOMENTS)) localize(field);
    zoneValues();
  }

  document.addEventListener("DOMContentLoaded", () => ready(document));
  document.addEventListener("htmx:load", (event) => ready(event.detail.elt.parentElement || document));

  setInterval(refresh, 1000);
  document.addEventListener("DOMContentLoaded", refresh);
  document.addEventListener("htmx:wsAfterMessage", refresh);
  document.addEventListener("htmx:afterSettle", refresh);
})();
