PYTHON ?= python3
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
BIN := .venv/bin
STAMP := .venv/.installed
SITE_STAMP := .venv-site/.installed

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup test test-arm hostile browser node s3 demo fix docs site constraints hashes licences wheels sbom clean

help:  ## list these targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP)  ## make .venv and install Limbeck with everything it can use, versions as in constraints.txt

# The stamp is written last: an interrupted installation leaves none, and the next call installs again.
$(STAMP): pyproject.toml constraints.txt setup.py $(wildcard src/limbeck/runtime/native/*)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Limbeck needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>&1)." >&2; \
		echo "Name another one: make setup PYTHON=python3.11" >&2; exit 1; }
	@rm -f $@
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt -e '.[train,zh,serve,search,demo,dev]'
	@touch $@

test: setup  ## format check, lint, types, tests: all that CI runs
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	@# Packaged models are tested in Node where npm has its files; without them those tests are skipped, and counted.
	@if command -v npm > /dev/null; then $(MAKE) --no-print-directory node || true; fi
	$(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder  # two at a time, a file each, the long ones first (tests/conftest.py)

test-arm: setup  ## build the wheel for aarch64 and run models of every kind in it under qemu-user (Debian; a few minutes)
	$(BIN)/python wheels/arm.py

hostile: setup  ## the long campaigns of tests/hostile, about half an hour; writes docs/reliability.md (ONLY="files kills" for some)
	$(BIN)/python -m tests.hostile $(ONLY)

# The only target that changes the system, and the only one that may need root.
browser:  ## install Chromium, for the tests of the pages in a browser (Debian and Ubuntu; asks for root)
	@for name in chromium chromium-browser google-chrome google-chrome-stable chrome; do \
		if command -v $$name; then exit 0; fi; done; \
	command -v apt-get > /dev/null || { echo "There is no apt-get here: install Chromium in your system's way." >&2; exit 1; }; \
	root=$$([ "$$(id -u)" = 0 ] || echo sudo); $$root apt-get update && $$root apt-get install -y chromium

node: setup  ## get the files of onnxruntime-web from npm, for the tests of packaged models (needs Node.js and npm)
	$(BIN)/python -c 'from limbeck.packaging.onnxruntime_web import put_runtime; from tempfile import mkdtemp; \
		from pathlib import Path; put_runtime(Path(mkdtemp()))'

# In a folder of its own: it asks for an older python-dateutil than the pinned one, and works with that.
s3: setup  ## run the tests on S3, against moto's server, which it installs into build/moto
	$(BIN)/python -m pip install --quiet --no-deps --target build/moto -r tests/unit/cluster/moto.txt
	PYTHONPATH=build/moto $(BIN)/pytest tests/unit/cluster/test_s3.py

demo: setup  ## the whole story offline: teacher, student, export, report
	$(BIN)/limbeck demo

fix: setup  ## format the code and mend what the linter can mend
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: setup  ## write the generated pages: docs/recipe.md, docs/commands.md, docs/files.md
	$(BIN)/python docs/generate.py

site: $(SITE_STAMP)  ## build the documentation as a website into site/
	.venv-site/bin/python docs/stage_site.py
	.venv-site/bin/zensical build --strict --clean

# A small environment of its own: the pages need neither PyTorch nor Limbeck.
$(SITE_STAMP): pyproject.toml constraints.txt
	@rm -f $@
	$(PYTHON) -m venv .venv-site
	.venv-site/bin/python -m pip install --disable-pip-version-check -c constraints.txt $$($(PYTHON) -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["site"])')
	@touch $@

constraints: setup $(SITE_STAMP)  ## pin in constraints.txt what .venv and .venv-site hold now
	@sed -n '/^#/p' constraints.txt > constraints.txt.partial
	{ $(BIN)/python -m pip freeze --all --exclude-editable | grep -v '^pip=='; .venv-site/bin/python -m pip freeze; } | sed 's/+cpu$$//' | LC_ALL=C sort -fu >> constraints.txt.partial
	@mv constraints.txt.partial constraints.txt
	@touch $(STAMP) $(SITE_STAMP)

hashes: setup  ## write requirements/*.txt: the base install as in constraints.txt, with hashes; asks pip's registry
	$(BIN)/python requirements/hashes.py

licences: setup $(SITE_STAMP)  ## write docs/licences.md from the metadata of what is installed
	$(BIN)/python docs/licences.py

wheels: setup  ## build a source archive and wheels for Linux on x86-64 and aarch64 into dist/, and check them
	$(BIN)/python wheels/build.py

sbom: setup  ## write build/sbom.cdx.json: what .venv holds to run models, in CycloneDX
	@mkdir -p build
	$(BIN)/limbeck sbom --hashes requirements/base.txt --out build/sbom.cdx.json

clean:  ## remove caches and the built site; .venv and runs/ stay
	rm -rf .cache .mypy_cache .pytest_cache .ruff_cache build dist site
	find src tests docs -name __pycache__ -type d -prune -exec rm -rf {} +
