import { defineConfig, loadEnv } from "vite";

/**
 * The part of your own backend: it holds the key and adds it to each request. Yours must add the key of the user who is signed in,
 * because the key decides who the user is. This one adds the same key for everyone, so it listens on this machine only, which
 * is the default of Vite, and pages of other sites may not call it.
 */
export default defineConfig(({ command, mode }) => {
  const env = loadEnv(mode, process.cwd(), "PAUSEPOINT_");
  if (command === "serve" && !env.PAUSEPOINT_KEY) throw new Error("Set PAUSEPOINT_KEY; README.md says how.");
  const target = (env.PAUSEPOINT_URL || "http://127.0.0.1:8000").replace(/\/+$/, "");
  const headers = { Authorization: `Bearer ${env.PAUSEPOINT_KEY}` };
  const proxy = { "^/chat(/|$|\\?)": { target, headers, changeOrigin: true } };
  return { server: { proxy, cors: false }, preview: { proxy, cors: false } };
});
