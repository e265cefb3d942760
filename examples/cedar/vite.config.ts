import { defineConfig, loadEnv } from "vite";

/**
 * The part of your own backend: it holds the key, and adds it on the way. Yours adds the key of whoever is signed in, since the
 * key decides who it is to Pausepoint. This one adds the same for whoever reaches it, so it listens on this machine only, which
 * is Vite's default, and other sites' pages may not call it.
 */
export default defineConfig(({ command, mode }) => {
  const env = loadEnv(mode, process.cwd(), "PAUSEPOINT_");
  if (command === "serve" && !env.PAUSEPOINT_KEY) throw new Error("Set PAUSEPOINT_KEY; README.md says how.");
  const target = (env.PAUSEPOINT_URL || "http://127.0.0.1:8000").replace(/\/+$/, "");
  const headers = { Authorization: `Bearer ${env.PAUSEPOINT_KEY}` };
  const proxy = { "^/chat(/|$|\\?)": { target, headers, changeOrigin: true } };
  return { server: { proxy, cors: false }, preview: { proxy, cors: false } };
});
