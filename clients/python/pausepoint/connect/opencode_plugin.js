import { spawn } from "node:child_process";

/** The exit code with which `pausepoint hook` says in words why a call must not run. */
const BLOCK = 2;

/** Run `pausepoint hook` with a report. Resolve with its answer; reject, which blocks the call, if it fails in any way. */
function ask(report) {
	return new Promise((resolve, reject) => {
		const hook = spawn("sh", ["-c", ASKING], { timeout: SECONDS * 1000, killSignal: "SIGKILL" });
		let answer = "";
		let words = "";
		hook.stdout.on("data", (part) => (answer += part));
		hook.stderr.on("data", (part) => (words += part));
		hook.stdin.on("error", () => {});
		hook.on("error", reject);
		hook.on("close", (code) => {
			if (code === BLOCK) return reject(new Error(words.trim()));
			try {
				if (code !== 0) throw new Error(words.trim());
				resolve(JSON.parse(answer));
			} catch (error) {
				reject(new Error(`Pausepoint could not be asked, so this was not run. ${error.message}`));
			}
		});
		hook.stdin.end(JSON.stringify(report));
	});
}

/** Put the approved input in the place of the model's. opencode ignores a new object, so the members are changed. */
function replace(args, approved) {
	for (const name of Object.keys(args)) if (!(name in approved)) delete args[name];
	Object.assign(args, approved);
}

export const Pausepoint = async ({ directory }) => ({
	"tool.execute.before": async (input, output) => {
		const answer = await ask({
			hook_event_name: "PreToolUse",
			session_id: input.sessionID,
			tool_use_id: input.callID,
			tool_name: input.tool,
			tool_input: output.args,
			cwd: directory,
		});
		const decision = answer.hookSpecificOutput;
		// An empty answer means that no one has to be asked about this tool.
		if (decision === undefined) return;
		if (decision.permissionDecision !== "allow") throw new Error(decision.permissionDecisionReason);
		replace(output.args, decision.updatedInput);
	},
	"tool.execute.after": async (input, output) => {
		try {
			const answer = await ask({
				hook_event_name: "PostToolUse",
				session_id: input.sessionID,
				tool_use_id: input.callID,
				tool_name: input.tool,
				tool_input: input.args,
				tool_response: output.output,
				cwd: directory,
			});
			const words = answer.hookSpecificOutput?.additionalContext;
			if (words) output.output += `\n\n${words}`;
		} catch (error) {
			// The call has already run, so there is nothing to block.
			output.output += `\n\n${error.message}`;
		}
	},
});
