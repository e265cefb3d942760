import type { IncomingMessage } from "node:http";
import { defineConfig, loadEnv, type Connect, type Plugin } from "vite";

export default defineConfig(({ mode }) => {
  const env = loadEnv(mode, process.cwd(), "PAUSEPOINT_");
  const url = (env.PAUSEPOINT_URL || "http://127.0.0.1:8000").replace(/\/+$/, "");
  // The page sends its own token, and the proxy adds nothing. No other address of Pausepoint is reachable.
  const proxy = { "^/api/chat(/|$)": { target: url, changeOrigin: true } };
  return {
    plugins: [clientTokens(url, env.PAUSEPOINT_KEY ?? "")],
    server: { proxy, cors: false },
    preview: { proxy, cors: false },
  };
});

/**
 * The part of your own backend: it holds the key and gives a page a token for one chat (`POST {"chat": id}`).
 *
 * Yours must first check who is signed in and whether the chat is theirs. This one answers everyone, so it listens
 * on this machine only, which is the default of Vite.
 */
function clientTokens(url: string, key: string): Plugin {
  const answer: Connect.NextHandleFunction = async (request, response) => {
    const say = (status: number, body: string) => {
      response.writeHead(status, { "Content-Type": "application/json", "Cache-Control": "no-store" }).end(body);
    };
    const refuse = (status: number, detail: string) => say(status, JSON.stringify({ status, detail }));
    // A form on another site cannot send this content type or read the response.
    if (request.method !== "POST" || request.headers["content-type"] !== "application/json") {
      return refuse(415, "POST a JSON object.");
    }
    try {
      const body = await textOf(request, 2000);
      const made = await fetch(`${url}/api/v1/client-tokens`, {
        method: "POST",
        headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
        body,
      });
      const text = await made.text();
      if (made.status === 401) return refuse(502, "Pausepoint does not know the key in PAUSEPOINT_KEY.");
      say(made.status, text);
    } catch (error) {
      refuse(502, `Pausepoint does not answer at ${url} (${error instanceof Error ? error.message : error}).`);
    }
  };
  const install = ({ middlewares }: { middlewares: Connect.Server }) => {
    if (!key) throw new Error("Set PAUSEPOINT_KEY to a key of Pausepoint's; README.md says how to make one.");
    middlewares.use("/client-token", answer);
  };
  return { name: "pausepoint-client-tokens", configureServer: install, configurePreviewServer: install };
}

async function textOf(request: IncomingMessage, limit: number): Promise<string> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) {
    text += chunk;
    if (text.length > limit) throw new Error("the body is too long");
  }
  return text;
}
