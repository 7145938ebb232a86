PYTHON ?= python3
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
BIN := .venv/bin
STAMP := .venv/.installed

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup test demo fix docs constraints clean

help:  ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP)  ## make .venv and install Limbeck with everything it can use, versions as in constraints.txt

# The stamp is written last: an interrupted installation leaves none, and the next call installs again.
$(STAMP): pyproject.toml constraints.txt setup.py $(wildcard src/limbeck/runtime/native/*)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Limbeck needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>&1)." >&2; \
		echo "Name another one: make setup PYTHON=python3.11" >&2; exit 1; }
	@rm -f $@
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt -e '.[train,zh,serve,demo,dev]'
	@touch $@

test: setup  ## format check, lint, types, tests: all that CI runs
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder  # two at a time, in the order of the files: the long ones of flow come early

demo: setup  ## the whole story offline: teacher, student, export, report
	$(BIN)/limbeck demo

fix: setup  ## format the code and mend what the linter can mend
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: setup  ## write the generated pages anew: docs/recipe.md, docs/commands.md, the tree in README.md
	$(BIN)/python docs/generate.py

constraints: setup  ## pin in constraints.txt what .venv holds now
	@sed -n '/^#/p' constraints.txt > constraints.txt.partial
	$(BIN)/python -m pip freeze --exclude-editable | sed 's/+cpu$$//' | LC_ALL=C sort -f >> constraints.txt.partial
	@mv constraints.txt.partial constraints.txt
	@touch $(STAMP)

clean:  ## remove caches; .venv and runs/ stay
	rm -rf .mypy_cache .pytest_cache .ruff_cache build dist
	find src tests docs -name __pycache__ -type d -prune -exec rm -rf {} +
