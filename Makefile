# Every target sets up what it needs. `make` alone lists them.
SHELL := /bin/sh
PYTHON := .venv/bin/python
LOCAL := $(PYTHON) -m deploy.local
PYTEST := $(PYTHON) -m pytest

.DEFAULT_GOAL := help
.PHONY: help setup setup-test run up down status logs reset demo test test-unit test-integration test-api test-browser test-fault \
	test-consistency test-setup test-long bench check format requirements vendor messages

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' Makefile

setup: ## install what is missing for running
	@deploy/setup.sh run

setup-test: ## install what is missing for tests and checks
	@deploy/setup.sh test

run: setup ## start everything and stay in the foreground; Ctrl-C stops it all
	@exec $(LOCAL) run

up: setup ## start everything in the background
	@exec $(LOCAL) up

down: ## stop everything
	@test ! -x $(PYTHON) || exec $(LOCAL) down

status: ## what runs
	@test -x $(PYTHON) || { echo "It does not run: make run starts it."; exit 3; }; exec $(LOCAL) status

logs: ## follow all logs
	@test -x $(PYTHON) || { echo "It does not run: make run starts it."; exit 3; }; exec $(LOCAL) logs

reset: ## ask, then delete var/ with all data (YES=1: do not ask)
	@test -x $(PYTHON) || { echo "There is nothing to delete."; exit 0; }; exec $(LOCAL) reset $(if $(YES),--yes)

demo: setup ## a minute of load, with the replica stalled for 20 s in the middle
	@exec $(LOCAL) demo

test: setup-test ## all layers, in one run of at most 15 minutes
	@exec $(PYTEST) -m "not long" -n 3 --dist loadfile

test-unit test-integration test-api test-browser test-fault test-consistency test-setup: setup-test ## one layer
	@exec $(PYTEST) -m "not long" $(subst test-,tests/,$@)

test-long: setup-test ## what takes longer than make test may
	@$(PYTEST) tests/unit -m "not long" -n 2 --hypothesis-profile=search
	@exec $(PYTEST) -m long

bench: setup-test ## speed, beside the machine's own databases in the same run (ONLY=reads: a part; PEER=name=host:port: a MySQL proxy)
	@exec $(PYTHON) -m bench $(ONLY) $(addprefix --peer ,$(PEER))

check: setup-test ## format, lint, types
	@$(PYTHON) -m ruff format --check .
	@$(PYTHON) -m ruff check .
	@$(PYTHON) -m mypy

format: setup-test ## format and sort imports
	@$(PYTHON) -m ruff check --select I --fix --quiet .
	@$(PYTHON) -m ruff format .

requirements: ## compile requirements/*.in anew (needs pip-tools)
	@for name in base dev; do \
		CUSTOM_COMPILE_COMMAND="make requirements" pip-compile -q --strip-extras -o requirements/$$name.txt requirements/$$name.in && \
		sed -i '/^--/d' requirements/$$name.txt || exit 1; done  # where packages come from is each machine's own affair

vendor: ## refresh static/vendor from npm (the only target that needs it)
	@exec python3 deploy/vendor.py

messages: setup-test ## collect strings for translation (needs gettext's xgettext, and a stack that was started once)
	@exec $(PYTHON) manage.py makemessages --locale zh_Hans --ignore '.venv/*' --ignore 'var/*' --no-wrap
