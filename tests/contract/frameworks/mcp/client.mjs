// The official JavaScript client, 1.x: asks for an approval, waits, and reports the result. `client.mjs ADDRESS KEY ACTION`
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [address, key, action] = process.argv.slice(2);
const client = new Client({ name: "contract", version: "1" });
const requestInit = { headers: { Authorization: `Bearer ${key}` } };
await client.connect(new StreamableHTTPClientTransport(new URL(`${address}/mcp`), { requestInit }));
const tools = (await client.listTools()).tools.map((tool) => tool.name);
let progress = 0;
const asked = { name: "request_approval", arguments: { action, input: { amount: 250 } } };
const approved = await client.callTool(asked, undefined, { onprogress: () => (progress += 1) });
const { request_id, input } = approved.structuredContent;
const reported = await client.callTool({ name: "report_result", arguments: { request_id, output: "done", input } });
const wrong = await client.callTool({ name: "check_request", arguments: { request_id: "7" } });
// A number that JSON readers would round, and half of a character.
const large = await client.callTool({ name: "request_approval", arguments: { action, input: { order: 2 ** 60, half: "\ud83d" } } });
await client.close();
console.log(
  JSON.stringify({
    tools: tools.length,
    progress: progress > 0,
    approved: approved.structuredContent,
    reported: reported.structuredContent,
    wrong: wrong.isError,
    large: large.isError && large.content[0].text,
  }),
);
