// A program over the generated types: one key asks and waits, the other approves with changes, and the result is reported.
import createClient from "openapi-fetch";
import type { paths } from "./api.js";

declare const process: { env: Record<string, string> };

const clientOf = (key: string) =>
  createClient<paths>({ baseUrl: process.env.PAUSEPOINT_URL, headers: { Authorization: `Bearer ${key}` } });
const asker = clientOf(process.env.PAUSEPOINT_KEY);
const approver = clientOf(process.env.APPROVER_KEY);

const asked = await asker.POST("/api/v1/requests", {
  body: { kind: "approval", title: "Refund order 4711?", tool_name: "refund", input: { amount: 120 } },
});
if (!asked.data) throw new Error(asked.error.detail);
const path = { request_id: asked.data.id };
const waiting = asker.GET("/api/v1/requests/{request_id}", { params: { path, query: { wait: 30 } } });
await approver.POST("/api/v1/requests/{request_id}/decision", {
  params: { path },
  body: { verdict: "edit", edited_input: { amount: 60 } },
});
const { data, error } = await waiting;
if (!data?.decision?.approved_digest) throw new Error(error?.detail ?? "not approved");
const { approved_input, approved_digest } = data.decision;
await asker.POST("/api/v1/requests/{request_id}/result", {
  params: { path },
  body: { input_digest: approved_digest, output: approved_input },
});
const { data: done } = await asker.GET("/api/v1/requests/{request_id}", { params: { path } });
console.log(JSON.stringify([data.status, done?.result?.state, done?.result?.output]));
