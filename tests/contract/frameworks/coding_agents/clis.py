"""Gemini CLI, Qwen Code, Copilot CLI and opencode as their users run them, with a stand-in of their models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

from tests.contract.frameworks import environments
from tests.contract.frameworks.coding_agent import CodingAgent
from tests.contract.frameworks.coding_agents.models import Call, ModelServer, Step
from tests.support.processes.server import Server


class Cli(CodingAgent):
    """A coding agent with settings of its own, connected; `model` is the stand-in of its model.

    `agent` is its name for `pausepoint connect`, and `program_name` also that of its packages. `words` start it without a person.
    """

    name = "coding_agents"
    agent = shell_tool = ""
    words: ClassVar[tuple[str, ...]] = ()
    #: Where its packages have the program.
    program_files: ClassVar[tuple[str, ...]] = ()
    #: Members of a shell call besides the command.
    more: ClassVar[dict[str, Any]] = {}
    #: Where `pausepoint connect` writes, below the home.
    settings_file = ""
    #: Whether it runs a call with the input of the answer; and whether it takes the words of a hook that failed.
    edits = tells_failures = True
    #: Whether it blocks a call if the shell that runs the hook is killed.
    blocks_without_shell = True

    def __init__(self, desk: Server, folder: Path, model: ModelServer, version: str) -> None:
        # opencode has changed its name.
        installed = environments.node_modules(self.name) / f"{self.program_name}-{version}"
        self.program_file = next(name for name in self.program_files if (installed / name).exists())
        super().__init__(desk, folder, f"{self.program_name}-{version}")
        self.model = model
        self.settings = self.home / self.settings_file
        self.prepare()

    def prepare(self) -> None:
        """Write the settings that its user has anyway."""

    def shell(self, command: str) -> Call:
        return self.shell_tool, {"command": command, **self.more}

    def run(self, *steps: Step, **environment: str) -> None:
        """Start it; the model makes the calls of each step, and then says that it is done."""
        self.model.script += [*steps, "done"]
        self.start([self.program_name, *self.words], environment)
        assert self.program.stdin is not None
        self.program.stdin.close()
        self.program.stdin = None

    def run_commands(self, *commands: str, **environment: str) -> None:
        """Let the model run these commands, one message for each."""
        self.run(*([self.shell(command)] for command in commands), **environment)

    def impatient(self, option: str = "--patience 1s") -> None:
        """Let the hook give up early, by default where the server is gone."""
        hook = f"hook {self.agent}"
        self.settings.write_text(self.settings.read_text().replace(hook, f"{hook} {option}"))
        assert option in self.settings.read_text()


class Gemini(Cli):
    agent, program_name = "gemini-cli", "gemini"
    program_files = ("bundle/gemini.js",)
    shell_tool = "run_shell_command"
    words = ("--yolo", "-m", "gemini-3-pro", "-p", "go")
    settings_file = ".gemini/settings.json"
    blocks_without_shell = False

    def prepare(self) -> None:
        self.settings.parent.mkdir()
        self.settings.write_text(json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}}))
        self.environment |= {
            "GEMINI_API_KEY": "x",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "GOOGLE_GEMINI_BASE_URL": self.model.url,
        }


class Qwen(Cli):
    agent, program_name = "qwen-code", "qwen"
    program_files = ("cli-entry.js",)
    shell_tool = "run_shell_command"
    more: ClassVar = {"is_background": False}
    words = ("--yolo", "--auth-type", "openai", "-p", "go")
    settings_file = ".qwen/settings.json"
    blocks_without_shell = False
    edits = False

    def prepare(self) -> None:
        self.environment |= {
            "OPENAI_API_KEY": "x",
            "OPENAI_BASE_URL": f"{self.model.url}/v1",
            "OPENAI_MODEL": "m",
        }


class Copilot(Cli):
    agent, program_name = "copilot", "copilot"
    program_files = ("npm-loader.js",)
    shell_tool = "bash"
    more: ClassVar = {"description": "work"}
    words = ("--allow-all-tools", "-p", "go")
    settings_file = ".copilot/hooks/pausepoint.json"
    tells_failures = False

    def prepare(self) -> None:
        self.environment |= {
            "COPILOT_PROVIDER_BASE_URL": f"{self.model.url}/v1",
            "COPILOT_PROVIDER_API_KEY": "x",
            "COPILOT_MODEL": "m",
            "COPILOT_OFFLINE": "true",
            # Otherwise it runs the newest version that any installation has left in its folder.
            "COPILOT_AUTO_UPDATE": "false",
        }


class Opencode(Cli):
    agent = program_name = "opencode"
    program_files = ("bin/opencode.exe", "bin/opencode")
    shell_tool = "bash"
    more: ClassVar = {"description": "work"}
    words = ("run", "go")
    settings_file = ".config/opencode/plugin/pausepoint.js"

    def prepare(self) -> None:
        options = {"baseURL": f"{self.model.url}/v1", "apiKey": "x"}
        provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"m": {"name": "m"}}}
        config = {"provider": {"local": provider}, "model": "local/m", "autoupdate": False, "share": "disabled"}
        file = self.home / ".config/opencode/opencode.json"
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(config))


CLIS = {cli.agent: cli for cli in (Gemini, Qwen, Copilot, Opencode)}
