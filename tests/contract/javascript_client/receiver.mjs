// The receiver of the README, which replaces the marked line: `[[body, headers], ...]` from stdin, and what it answers.
import { readFileSync } from "node:fs";

const handled = [];
const handle = async ({ id }) => handled.push(id);

// THE PAGE

const answers = [];
for (const [body, headers] of JSON.parse(readFileSync(0, "utf8"))) {
  const request = new Request("https://receiver.example.com/", { method: "POST", body, headers });
  answers.push((await POST(request)).status);
}
console.log(JSON.stringify({ answers, handled }));
