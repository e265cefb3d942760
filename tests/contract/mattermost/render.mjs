// Shows messages as Mattermost does: a JSON list of texts in, for each what its apps and its pages make of it as HTML.
import { text } from "node:stream/consumers";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const { HtmlRenderer, Parser } = require("@mattermost/commonmark");
const marked = require("marked");

// The server of Mattermost makes Markdown of Slack's links first.
const links = (message) => message.replace(/<([^\n<|>]+)\|([^|\n>]+)>/g, "[$2]($1)");

const parser = new Parser({ minimumHashtagLength: 3 });
const shown = (message) => ({
  apps: new HtmlRenderer().render(parser.parse(message)),
  pages: marked(message, { gfm: true, sanitize: true, tables: true }),
});

console.log(JSON.stringify(JSON.parse(await text(process.stdin)).map((message) => shown(links(message)))));
