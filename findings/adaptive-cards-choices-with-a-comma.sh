#!/usr/bin/env bash
# Adaptive Cards (the cards of Microsoft Teams): the chosen values of a set of choices travel in one text with commas between them, both
# to the card and back. So a choice whose value has a comma can't be preselected, others are in its place, and an answer with it
# reads as two. A button's own data is replaced by an input of the same id, and a number comes back as text.
# Guess: each value stays whole, and what a button sends is what its card says. Fails if that has come true.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund adaptivecards@3.0.6 jsdom@26.1.0 >/dev/null
cat >look.cjs <<'JAVASCRIPT'
const { readFileSync } = require("node:fs");
const { JSDOM } = require("jsdom");
const page = new JSDOM("<body></body>").window;
for (const name of Object.getOwnPropertyNames(page)) if (name.startsWith("HTML")) globalThis[name] = page[name];
Object.assign(globalThis, { window: page, document: page.document });
// The package's own entry does not load in Node: its modules import each other without extensions.
const exported = { exports: {} };
new Function("module", "exports", readFileSync("node_modules/adaptivecards/dist/adaptivecards.js", "utf8"))(exported, exported.exports);

function sent(body) {
  const card = new exported.exports.AdaptiveCard();
  let data;
  card.onExecuteAction = (action) => (data = action.data);
  card.parse({ type: "AdaptiveCard", version: "1.5", body, actions: [{ type: "Action.Submit", data: { verdict: "approve" } }] });
  page.document.body.append(card.render());
  card.getActionAt(0).execute();
  return data;
}

const choices = ["Lyon, France", "Paris", " France"].map((value) => ({ title: value, value }));
const several = { type: "Input.ChoiceSet", id: "offices", isMultiSelect: true, choices };
const seen = [
  sent([{ ...several, value: "Lyon, France,Paris" }]),
  sent([{ type: "Input.Text", id: "verdict", value: "a word" }, { type: "Input.Number", id: "amount", value: 12 }]),
];
console.log("adaptivecards 3.0.6:", JSON.stringify(seen));
const expected = [{ verdict: "approve", offices: "Paris, France" }, { verdict: "a word", amount: "12" }];
process.exit(Number(JSON.stringify(seen) !== JSON.stringify(expected)));
JAVASCRIPT
node look.cjs
