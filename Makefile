# The commands of this project; CONTRIBUTING.md explains them. `make check` is the lint that CI runs.
PYTHON ?= python3
PORT ?= 8000
PUBLIC_URL ?= http://127.0.0.1:$(PORT)
VENV := .venv
PY := $(VENV)/bin/python

# Tests start hundreds of processes: each would compile the project anew where Python is told to keep no bytecode.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo key test coverage proofs contract findings everything check scripts lock messages format docs docs-serve pictures release clean
.DEFAULT_GOAL := demo

# REQUIREMENTS=requirements.txt takes the newest versions that fit, where the lock has none for your Python or processor.
REQUIREMENTS ?= requirements.lock
$(VENV)/ready: $(REQUIREMENTS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Pausepoint needs Python 3.11 or newer: make $(MAKECMDGOALS) PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "This Python cannot make virtual environments. On Debian: apt-get install python3-venv"; rm -rf $(VENV); exit 1; }
	@echo 'Installing $(REQUIREMENTS)' >&2
	@$(PY) -m pip install --quiet --disable-pip-version-check -r $(REQUIREMENTS)
	@touch $@

$(VENV)/ready-for-tests: $(VENV)/ready tests/requirements.txt
	@echo 'Installing tests/requirements.txt' >&2
	@$(PY) -m pip install --quiet --disable-pip-version-check -r tests/requirements.txt
	@touch $@

# A database, demo users and conversations; then serve. PORT=9000 takes another port, and every link follows it.
demo: $(VENV)/ready
	@DEBUG=1 PUBLIC_URL=$(PUBLIC_URL) $(PY) manage.py migrate --verbosity 0
	@DEBUG=1 PUBLIC_URL=$(PUBLIC_URL) $(PY) manage.py seed_demo --with-history
	@DEBUG=1 PUBLIC_URL=$(PUBLIC_URL) exec $(PY) manage.py serve --port $(PORT)

# Print a new API key for a user of the demo: make key USER=bob [NAME="billing agent"] [SCOPES=ask,decide,read]
key: NAME ?= command line
key: SCOPES ?= ask,read
key: $(VENV)/ready
	@$(if $(filter command line,$(origin USER)),,echo 'Say whose key it is: make key USER=requester' >&2; exit 1)
	@DEBUG=1 $(PY) manage.py createkey --user '$(USER)' --name '$(NAME)' --scopes '$(SCOPES)'

# Fast tests on all cores, with no service. ARGS="..." replaces the arguments of pytest: one file, one test, any option.
test: $(VENV)/ready-for-tests
	$(PY) -m pytest $(or $(ARGS),tests/approvals tests/chats tests/hitlsite -n auto --dist worksteal)

# The fast tests with the coverage of branches, in build/coverage/html. Fails if less is covered than pyproject.toml says.
coverage: $(VENV)/ready-for-tests
	@mkdir -p build/coverage
	$(PY) -m pytest tests/approvals tests/chats tests/hitlsite -n auto --dist worksteal --cov --cov-report= --cov-report=html:build/coverage/html

# The slowest start first, so that no core is idle at the end: pytest-xdist gives a file to one process. Each is named once:
# pytest sorts folders within folders.
SLOWEST := $(addprefix tests/proofs/,browser claude team crash test_on_postgresql.py test_state_machines.py) \
  tests/contract/examples $(addprefix tests/proofs/,test_replays.py site)
# Runs in one process, beside the others: schemathesis gives all operations the same name, and pytest-xdist would run only
# the first.
FUZZED := tests/proofs/rest/test_rest_fuzzed.py

# Tests in environments of their own: make contract.
ON_DEMAND := $(addprefix tests/contract/,frameworks javascript_client javascript_frameworks openapi packages)
PROOFS := $(SLOWEST) $(filter-out $(SLOWEST) $(ON_DEMAND) %/__pycache__,$(patsubst %/,%,$(wildcard tests/contract/*/ tests/proofs/*/ tests/proofs/test_*.py)))

# One more than cores, because these tests wait for a fifth of their time.
WORKERS := $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

# Tests with real processes, databases, browsers and clients. ROUNDS=10 kills the server ten times at each point.
proofs: $(VENV)/ready-for-tests $(VENV)/ready-for-docs
ifdef ARGS
	$(PY) -m pytest $(ARGS)
else
	@mkdir -p build
	@$(PY) -m pytest $(FUZZED) >build/fuzzed.txt 2>&1 & fuzzed=$$!; \
	$(PY) -m pytest $(PROOFS) -n $(WORKERS) --dist loadfile --no-loadscope-reorder --ignore $(FUZZED); status=$$?; \
	wait $$fuzzed || status=$$?; cat build/fuzzed.txt; exit $$status
endif

# Agent frameworks and packages, each in an environment of its own: make contract NAME=langchain, or all of them. With LOWEST=1,
# a framework has the oldest version that the client allows, and only those that say one are tested. A framework for JavaScript:
# make contract NAME=javascript_frameworks/mastra.
FRAMEWORKS := $(notdir $(patsubst %/requirements.txt,%,$(wildcard tests/contract/frameworks/*/requirements.txt)))
contract: NAME ?= javascript_frameworks $(if $(LOWEST),$(filter-out claude_code codex mcp,$(FRAMEWORKS)),packages javascript_client openapi $(FRAMEWORKS))
contract: $(VENV)/ready-for-tests
	$(PY) -m tests.contract.frameworks.environments $(NAME)
	REQUIRE_SERVICES=1 $(PY) -m pytest -n $(WORKERS) --dist loadfile $(wildcard $(addprefix tests/contract/frameworks/,$(NAME)) $(addprefix tests/contract/,$(NAME)))

# One of the scripts in findings/, which installs what it needs in a temporary folder: make findings NAME=pyjwt-takes-rsa-keys-for-rs256
findings:
	@$(if $(NAME),,echo 'Say which one: make findings NAME=pyjwt-takes-rsa-keys-for-rs256' >&2; exit 1)
	findings/$(NAME).sh

# All, with the oldest frameworks too, on both databases and both versions of Django, if a Python is installed that the newer
# Django runs on.
everything: export ALL_CASES = 1
everything: coverage proofs contract
	LOWEST=1 $(MAKE) contract
	TEST_ON=postgresql $(MAKE) test
	NEWEST=$$(.ci/newest-python $(PYTHON)) && [ "$$NEWEST" = "$(PYTHON)" ] || \
	  { $(MAKE) test proofs PYTHON="$$NEWEST" VENV=.venv-newest && \
	    TEST_ON=postgresql $(MAKE) test PYTHON="$$NEWEST" VENV=.venv-newest; }

# Types and lint of scripts and stylesheets. Not `npm ci`, which wants the binaries of all other platforms to be listed too.
tests/node_modules/ready: tests/package-lock.json
	@echo 'Installing tests/package.json' >&2
	@cd tests && npm install --no-save --no-audit --no-fund --ignore-scripts --loglevel=error
	@touch $@

scripts: tests/node_modules/ready
	tests/node_modules/.bin/biome lint --error-on-warnings
	tests/node_modules/.bin/tsc --project hitlsite
	tests/node_modules/.bin/tsc --project hitlsite/tsconfig.worker.json

NO_NPM := !!! NOT CHECKED: scripts and stylesheets, because there is no npm. On Debian: apt-get install nodejs npm.

check: $(VENV)/ready-for-tests $(if $(shell command -v npm),scripts)
	$(if $(shell command -v npm),,@echo '$(NO_NPM)' >&2; test "$$REQUIRE_SERVICES" != 1)
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/djade --check $$(git ls-files 'templates/*.html')
	DEBUG=1 $(VENV)/bin/mypy
	DEBUG=1 $(PY) manage.py makemigrations --check --dry-run
	$(PY) -m tests.support.catalogues

# Pin what requirements.txt allows, with hashes, for every version of Python. What is pinned stays, if it fits: UPGRADE=1
# takes the newest versions.
lock: $(VENV)/ready-for-tests
	$(VENV)/bin/uv pip compile requirements.txt --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
	  $(if $(UPGRADE),--upgrade) --quiet --output-file requirements.lock
	$(PY) -m tests.hitlsite.project.locked_extras

# Bring the translations in locale/ up to date: extract all texts, for translators, and compile. LOCALE=fr begins a new one.
LOCALE ?= $(notdir $(wildcard locale/*))
messages: $(VENV)/ready
	@for locale in $(LOCALE); do \
	  mkdir -p locale/$$locale; \
	  for domain in django djangojs; do \
	    DEBUG=1 $(PY) manage.py makemessages --locale $$locale --domain $$domain --no-location --no-obsolete \
	      $(addprefix --ignore ,"tests/*" "examples/*" "clients/*" "benchmarks/*" "var/*" "staticfiles/*" "docs/*") || exit 1; \
	  done; \
	  DEBUG=1 $(PY) manage.py compilemessages --locale $$locale || exit 1; \
	done

format: $(VENV)/ready-for-tests
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

# The documentation as a site, in build/docs/versions. A broken link, a missing page or any warning is a failure. DOCS=/srv/docs
# puts this version beside those that are there.
DOCS ?= build/docs/versions
$(VENV)/ready-for-docs: $(VENV)/ready docs/requirements.txt
	@echo 'Installing docs/requirements.txt' >&2
	@$(PY) -m pip install --quiet --disable-pip-version-check -r docs/requirements.txt
	@touch $@

docs: $(VENV)/ready-for-docs
	$(PY) docs/build.py $(DOCS)

docs-serve: docs
	$(PY) -m http.server --bind 127.0.0.1 --directory $(DOCS) 8080

# Screenshots for the documentation, or ARGS=story, its moving picture.
pictures: $(VENV)/ready-for-tests
	$(PY) docs/pictures/make.py $(ARGS)

# The packages, the image and the notes of a release, in build/release, each checked where nothing else is installed.
release:
	@$(PYTHON) .ci/release.py

clean:
	rm -rf .venv .venv-newest tests/node_modules build var staticfiles .pytest_cache .mypy_cache .ruff_cache .hypothesis
