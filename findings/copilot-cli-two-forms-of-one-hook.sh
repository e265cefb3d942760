#!/usr/bin/env bash
# GitHub Copilot CLI: hooks named as in Claude Code (`PreToolUse`, `PostToolUse`) get Claude Code's input and may answer in its form.
# Guess: both events read `hookSpecificOutput`, as they both write `hook_event_name`, `tool_name` and `tool_input`.
# Seen: before a call they do (a changed input in `updatedInput` runs). After it, `additionalContext` in `hookSpecificOutput` is dropped without a word, so
# the model never reads it; it has to stand at the top, as in Copilot's own form. And the result that the hook gets is not Claude Code's `tool_response` but
# `tool_result`. So a program that works with Claude Code changes calls here, but what people say about a result is lost.
# Fails if that has changed. (The model is a stand-in on this machine.)
set -euo pipefail
folder=$(mktemp -d)
trap 'kill "$model" 2>/dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
npm install --prefix . --no-audit --no-fund --loglevel=error @github/copilot@1.0.102 >/dev/null
mkdir -p home/.copilot/hooks project

cat >model.py <<'PYTHON'
import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

CALL = {"index": 0, "id": "call_1", "type": "function"}
CALL["function"] = {"name": "bash", "arguments": json.dumps({"command": "echo hello", "description": "greet"})}


class Model(BaseHTTPRequestHandler):
    """Asks for one command, and writes down what it is told about the result."""

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        results = [one for one in body["messages"] if one["role"] == "tool"]
        if results:
            open("told.txt", "w").write(json.dumps(body["messages"]))
        delta = {"role": "assistant", "content": "done"} if results else {"role": "assistant", "tool_calls": [CALL]}
        choice = {"index": 0, "delta": delta, "finish_reason": "stop" if results else "tool_calls"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        event = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice], "usage": usage}
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self.wfile.write(f"data: {json.dumps(event)}\n\ndata: [DONE]\n\n".encode())


server = HTTPServer(("127.0.0.1", 0), Model)
open("port.txt", "w").write(str(server.server_port))
server.serve_forever()
PYTHON
python3 model.py &
model=$!
until [[ -s port.txt ]]; do sleep 0.1; done

# Run one turn whose hook for an event answers with this JSON, and print what came of it.
turn() {
  local event=$1 answer=$2
  printf '#!/bin/sh\ncat > "%s/input.json"\necho '"'%s'"'\n' "$folder" "$answer" >hook.sh
  chmod +x hook.sh
  printf '{"version": 1, "hooks": {"%s": [{"type": "command", "bash": "%s/hook.sh", "timeoutSec": 30}]}}' "$event" "$folder" \
    >home/.copilot/hooks/hook.json
  rm -f told.txt
  (cd project && HOME="$folder/home" COPILOT_AUTO_UPDATE=false COPILOT_OFFLINE=true COPILOT_MODEL=m COPILOT_PROVIDER_API_KEY=x \
    COPILOT_PROVIDER_BASE_URL="http://127.0.0.1:$(<"$folder/port.txt")/v1" \
    "$folder/node_modules/.bin/copilot" --allow-all-tools -p go </dev/null >/dev/null 2>&1)
}
has() { grep -q "$1" "$2" && echo yes || echo no; }

turn PreToolUse '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": {"command": "echo changed", "description": "greet"}}}'
seen="before a call, the change in hookSpecificOutput runs: $(has 'changed' told.txt)"
turn PostToolUse '{"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "said-by-a-person"}}'
seen+="
after a call, the model reads the context in hookSpecificOutput: $(has 'said-by-a-person' told.txt)
the hook gets tool_response: $(has '"tool_response"' input.json)
the hook gets tool_result: $(has '"tool_result"' input.json)"
turn PostToolUse '{"additionalContext": "said-by-a-person"}'
seen+="
after a call, the model reads the context at the top: $(has 'said-by-a-person' told.txt)"
expected="before a call, the change in hookSpecificOutput runs: yes
after a call, the model reads the context in hookSpecificOutput: no
the hook gets tool_response: no
the hook gets tool_result: yes
after a call, the model reads the context at the top: yes"
echo "@github/copilot 1.0.102"
echo "$seen"
if [[ $seen != "$expected" ]]; then
  echo "Changed. Expected:"
  echo "$expected"
  exit 1
fi
