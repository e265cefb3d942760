/** JSON of what is sent: exactly what the program has, or nothing at all. */

/** So deep a value is refused before it is walked to its end; Pausepoint takes fewer levels. */
const MAX_LEVELS = 100;

type Members = Readonly<Record<string, unknown>>;

/**
 * Return the JSON of a value. Throws TypeError, which names the place, for everything that JSON does not carry whole, such as
 * a Map, an instance of a class, NaN or a BigInt: people would be shown another value than the one that runs. A date is sent as
 * its ISO 8601 text, and a member that is undefined is left out.
 */
export function encoded(value: unknown): string {
  return JSON.stringify(whole(value));
}

/** Return a value as it is read from its JSON. Throws TypeError as `encoded`. */
export function jsonOf(value: unknown, path = ""): unknown {
  return JSON.parse(JSON.stringify(whole(value, path)));
}

/**
 * Return a copy of a value that JSON carries whole, in which dates are still dates. What runs is such a copy: the program may
 * change its own value while people decide. Throws TypeError as `encoded`; `path` is the place of the value in what is sent.
 */
export function whole<T>(value: T, path = ""): T {
  return copied(value, path, []) as T;
}

function copied(value: unknown, path: string, above: readonly object[]): unknown {
  if (value === null || typeof value === "string" || typeof value === "boolean" || Number.isFinite(value)) return value;
  if (typeof value !== "object") throw refused(path, typeof value === "number" ? String(value) : kindOf(value));
  if (isDate(value)) {
    if (Number.isNaN(value.getTime())) throw refused(path, "an invalid date");
    return new Date(value.getTime());
  }
  if (above.includes(value)) throw refused(path, "a value that contains itself");
  if (above.length === MAX_LEVELS) throw refused(path, `deeper than ${MAX_LEVELS} levels`);
  const within = [...above, value];
  if (isPlainArray(value)) return Array.from(value, (item, at) => copied(item, `${path}[${at}]`, within));
  if (!isPlainObject(value)) throw refused(path, `an instance of ${classOf(value)}`);
  if (Object.getOwnPropertySymbols(value).some((name) => Object.prototype.propertyIsEnumerable.call(value, name))) {
    throw refused(path, "an object with a symbol as a name");
  }
  const members: [string, unknown][] = [];
  for (const [name, member] of Object.entries(value)) {
    if (member !== undefined) members.push([name, copied(member, placeOf(path, name), within)]);
  }
  return Object.fromEntries(members);
}

function refused(path: string, what: string): TypeError {
  return new TypeError(
    `${path ? `\`${path}\`` : "The value"} is ${what}, which JSON does not carry whole, so nothing was sent. Give plain objects, ` +
      "arrays without holes, texts, finite numbers, true, false, null or valid dates.",
  );
}

function placeOf(path: string, name: string): string {
  if (!/^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path ? `${path}.${name}` : name;
}

/** These checks hold for values of another realm, too, such as those of `node:vm`. */
function isDate(value: object): value is Date {
  return tagOf(value) === "Date" && Object.hasOwn(protoOf(value), "getTime") && Object.keys(value).length === 0;
}

function isPlainArray(value: object): value is unknown[] {
  // An array may have other members than its items, and an array of another class more than that.
  return Array.isArray(value) && Object.hasOwn(protoOf(value), "flatMap") && Object.keys(value).every(isPlace);
}

function isPlace(name: string): boolean {
  return /^\d+$/.test(name);
}

function isPlainObject(value: object): value is Members {
  const proto = Object.getPrototypeOf(value) as object | null;
  const isOfNoClass = proto === null || (Object.getPrototypeOf(proto) === null && Object.hasOwn(proto, "isPrototypeOf"));
  return isOfNoClass && tagOf(value) === "Object";
}

function protoOf(value: object): object {
  return (Object.getPrototypeOf(value) ?? {}) as object;
}

function tagOf(value: object): string {
  return Object.prototype.toString.call(value).slice("[object ".length, -1);
}

function kindOf(value: unknown): string {
  if (value === undefined) return "undefined";
  return typeof value === "bigint" ? "a BigInt" : `a ${typeof value}`;
}

function classOf(value: object): string {
  const { name } = (protoOf(value) as { constructor?: { name?: unknown } }).constructor ?? {};
  return typeof name === "string" && name && name !== "Object" ? name : tagOf(value);
}
