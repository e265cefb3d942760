import { CedarCopilot, useCedarStore } from "cedar-os";
import { createRoot } from "react-dom/client";
import { App } from "./app";
import { cancelRun } from "./desk";
import { repairHumanInTheLoop } from "./humanInTheLoop";
import "./style.css";

// A thread is a chat with that id; it is stored, so that a reload finds it again.
const thread = sessionStorage.getItem("thread") ?? crypto.randomUUID();
sessionStorage.setItem("thread", thread);

repairHumanInTheLoop(useCedarStore, cancelRun);
createRoot(document.getElementById("page")!).render(
  <CedarCopilot threadId={thread} llmProvider={{ provider: "mastra", baseURL: location.origin }}>
    <App thread={thread} />
  </CedarCopilot>,
);
