# The verbs of this project. `make check` is what CI lints.
PYTHON ?= python3
PORT ?= 8000
PUBLIC_URL ?= http://127.0.0.1:$(PORT)
VENV := .venv
PY := $(VENV)/bin/python

.PHONY: demo test proofs everything check messages format pictures clean
.DEFAULT_GOAL := demo

$(VENV)/ready: requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Pausepoint needs Python 3.11 or newer: make $(MAKECMDGOALS) PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "This Python cannot make virtual environments. On Debian: apt-get install python3-venv"; rm -rf $(VENV); exit 1; }
	$(PY) -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

$(VENV)/ready-for-tests: $(VENV)/ready tests/requirements.txt
	$(PY) -m pip install --quiet --disable-pip-version-check -r tests/requirements.txt
	@touch $@

demo: $(VENV)/ready
	@DEBUG=1 PUBLIC_URL=$(PUBLIC_URL) $(PY) manage.py migrate --verbosity 0
	@DEBUG=1 PUBLIC_URL=$(PUBLIC_URL) $(PY) manage.py seed_demo
	@DEBUG=1 PUBLIC_URL=$(PUBLIC_URL) exec $(PY) manage.py serve --port $(PORT)

# Fast tests, embedded and on all cores. ARGS=path takes one file or test instead, and any option of pytest.
test: $(VENV)/ready-for-tests
	$(PY) -m pytest $(or $(ARGS),tests/approvals tests/chats tests/hitlsite -n auto --dist worksteal)

# Begun first, so that no core is left without work at the end.
SLOWEST := tests/proofs/team tests/proofs/browser
# Run in one process: schemathesis gives all operations one name, of which pytest-xdist would run the first alone.
FUZZED := tests/proofs/rest/test_rest_fuzzed.py

# Tests with real processes, databases, browsers and clients. ROUNDS=10 kills ten times at each point.
proofs: $(VENV)/ready-for-tests
	$(PY) -m pytest $(or $(ARGS),$(SLOWEST) tests/contract tests/proofs -n auto --dist loadfile --no-loadscope-reorder --ignore $(FUZZED))
	$(if $(ARGS),,$(PY) -m pytest $(FUZZED))

# Both, on both databases and both Djangos, as far as a Python is there that the newer Django runs on.
everything: test proofs
	TEST_ON=postgresql $(MAKE) test
	NEWEST=$$(.ci/newest-python $(PYTHON)) && [ "$$NEWEST" = "$(PYTHON)" ] || \
	  { $(MAKE) test proofs PYTHON="$$NEWEST" VENV=.venv-newest && \
	    TEST_ON=postgresql $(MAKE) test PYTHON="$$NEWEST" VENV=.venv-newest; }

check: $(VENV)/ready-for-tests
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/djade --check $$(git ls-files 'templates/*.html')
	DEBUG=1 $(VENV)/bin/mypy
	DEBUG=1 $(PY) manage.py makemigrations --check --dry-run
	$(PY) -m tests.support.catalogues

# Extract all texts into locale/$(LOCALE), for a translator. After that, compile: manage.py compilemessages.
messages: $(VENV)/ready
	@test -n "$(LOCALE)" || { echo "Say which language: make messages LOCALE=de"; exit 1; }
	@mkdir -p locale
	for domain in django djangojs; do \
	  DEBUG=1 $(PY) manage.py makemessages --locale $(LOCALE) --domain $$domain --no-location \
	    --ignore "tests/*" --ignore "examples/*" --ignore "var/*" --ignore "staticfiles/*" --ignore "docs/*" || exit 1; \
	done

format: $(VENV)/ready-for-tests
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

pictures: $(VENV)/ready-for-tests
	$(PY) docs/pictures/make.py

clean:
	rm -rf .venv .venv-newest var staticfiles .pytest_cache .mypy_cache .ruff_cache .hypothesis
