#!/usr/bin/env bash
# Mattermost's Markdown for apps: of domains without a scheme that stand after a space, those that begin with x become links (its
# scanner stops at an x, because of emoticons). Guess: all of them do, or none. Fails if that has come true.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund @mattermost/commonmark@0.31.2-0 >/dev/null
cat >look.cjs <<'JAVASCRIPT'
const { HtmlRenderer, Parser } = require("@mattermost/commonmark");
const texts = ["see pay.example.com/a", "see box.example.com/a", "see x.example.com/a", "see xyz.example.com/a"];
const links = texts.map((text) => new HtmlRenderer().render(new Parser().parse(text)).includes("<a "));
console.log("@mattermost/commonmark 0.31.2-0:", JSON.stringify(texts), "are links:", JSON.stringify(links));
process.exit(Number(JSON.stringify(links) !== "[false,false,true,true]"));
JAVASCRIPT
node look.cjs
