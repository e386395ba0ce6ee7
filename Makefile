# make demo   environment, install, the main job on the data that ships
# make test   environment, install, the default tests
# make help   every target
#
# A machine that has no GPU can skip the CUDA build of torch:
#   make demo TORCH_INDEX=https://download.pytorch.org/whl/cpu

SHELL := /bin/bash
.DELETE_ON_ERROR:
.PHONY: help install demo test test-slow lint bench bench-slow clean

VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEMO_HOME ?= infosedd-home
TORCH_INDEX ?=
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
# One thread of linear algebra a test process: several processes run side by side.
TEST_ENV := OMP_NUM_THREADS=1 MKL_NUM_THREADS=1
PYTEST_ARGS ?=

help:
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

install: $(STAMP) ## make the environment in .venv and install everything

$(STAMP): pyproject.toml setup.py constraints.txt
	@python=$$(bash -c 'for p in "$$PYTHON" python3 python3.13 python3.12 python3.11 python3.14 python; do \
	    [ -n "$$p" ] && "$$p" -c "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))" 2>/dev/null \
	    && echo "$$p" && exit 0; done; exit 1') \
	  || { echo "error: no Python 3.11 or later with venv was found on PATH; install one, or name it: make PYTHON=/path/to/python3.11" >&2; exit 3; }; \
	if [ ! -x $(BIN)/python ] || ! $(BIN)/python -c "import pip" 2>/dev/null; then \
	  echo "making the environment $(VENV) with $$python"; "$$python" -m venv --clear $(VENV); fi
	@echo "installing torch, then infosedd and its tools (minutes the first time)"
	@$(PIP_INSTALL) $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) "torch==$$(sed -n 's/^torch==//p' constraints.txt)"
	@$(PIP_INSTALL) --editable '.[dev]'
	@touch $(STAMP)

demo: $(STAMP) ## the main job on the data that ships, with its report
	$(BIN)/infosedd run lac-promoter --home $(DEMO_HOME)

test: $(STAMP) ## the default tests
	$(TEST_ENV) $(BIN)/python -m pytest -m "not slow" -n 2 --dist loadgroup -q $(PYTEST_ARGS)

test-slow: $(STAMP) ## the tests that take long
	$(TEST_ENV) $(BIN)/python -m pytest -m slow -q $(PYTEST_ARGS)

lint: $(STAMP) ## ruff and pyright
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

bench: $(STAMP) ## the benchmarks that take minutes
	$(BIN)/python -m benchmarks.truths
	$(BIN)/python -m benchmarks.ingest
	$(BIN)/python -m benchmarks.warehouse speed
	$(BIN)/python -m benchmarks.flows

bench-slow: $(STAMP) ## the benchmarks that take long
	$(BIN)/python -m benchmarks.truths pairs256
	$(BIN)/python -m benchmarks.calibration
	$(BIN)/python -m benchmarks.warehouse all
	$(BIN)/python -m benchmarks.faults

clean: ## remove the environment and caches; results in infosedd-home stay
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .ruff_cache .hypothesis
