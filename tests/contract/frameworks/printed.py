"""The lines that `pausepoint connect` prints for a framework, run in its environment as they are."""

from __future__ import annotations

import json
import os
import subprocess

import pytest
from pausepoint.connect.projects import PYTHON

from tests.contract.frameworks import environments
from tests.support.services import missing

#: Makes the imports and the calls of the lines. `await` only needs the arguments to fit.
PROGRAM = """
import inspect, json, re, sys
*imports, line = json.loads(sys.argv[1])
names = dict.fromkeys(("agent", "text", "workflow"), None) | {"thread_id": "order-4711"}
exec("\\n".join(imports), names)
call = line.removeprefix("await ")
made = eval(f"dict({call})" if re.match(r"\\w+=", call) else call, names)
assert inspect.iscoroutine(made) == line.startswith("await "), made
if inspect.iscoroutine(made):
    made.close()
"""


def test_the_lines_that_connect_prints_run(request: pytest.FixtureRequest) -> None:
    name = request.path.parent.name
    if not environments.ready(name):
        missing(f"no environment for {name}", f"make contract NAME={name}")
    (framework,) = [framework for framework in PYTHON if framework.page.replace("-", "_") == name]
    settings = {"PAUSEPOINT_URL": "https://desk.example.com", "PAUSEPOINT_KEY": "pp_key"}
    command = [str(environments.python(name)), "-c", PROGRAM, json.dumps(framework.lines)]
    subprocess.run(command, env=os.environ | settings, check=True)
