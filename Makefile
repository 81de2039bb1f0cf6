# Everything runs in .venv, which the first target makes by itself. Another Python for it:
#   make test PYTHON=python3.12
PYTHON ?= python3
RUN := .venv/bin/python -m

.PHONY: help demo test lint bench setup

help:
	@sed -n 's/^\([a-z]*\):.*## /make \1	/p' Makefile

demo: setup ## train a small player, three seeds of it, then play the heuristics; a page about it
	for seed in 0 1 2; do \
	  $(RUN) training.ppo --config configs/demo.yaml --seed $$seed --folder runs/demo-$$seed || exit; done
	.venv/bin/fives tournament configs/demo_ladder.yaml
	.venv/bin/fives report runs/demo-0/ladder.jsonl --runs runs/demo-0 runs/demo-1 runs/demo-2 --html runs/demo.html

test: lint ## lint, then all tests
	$(RUN) pytest -n 2

lint: setup ## style, format and types
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) mypy

bench: setup ## speed on this machine
	.venv/bin/fives bench

setup: .venv/stamp

# The stamp says where .venv was made. One that was moved, copied or lost its Python is begun anew.
ifneq ($(shell .venv/bin/python -c 'print(open(".venv/stamp").read(), end="")' 2>/dev/null),$(CURDIR))
$(shell test -e .venv/stamp && mv .venv/stamp .venv/unfinished)
endif

# An installation that was cut short leaves .venv/unfinished, and is begun anew too.
.venv/stamp: pyproject.toml configs/constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || { \
	  echo "Sorry, fives_env needs Python 3.11, 3.12 or 3.13: try make PYTHON=python3.12." >&2; exit 1; }
	@if test -e .venv/unfinished || ! $(RUN) pip --version >/dev/null 2>&1; then \
	  $(PYTHON) -m venv --clear .venv; fi
	@rm -f $@ && echo "$(CURDIR)" > .venv/unfinished
	@echo "Installing into .venv; the first time takes a few minutes."
	@$(RUN) pip install --quiet -c configs/constraints.txt -e ".[train,render,report,onnx,dev]"
	@mv .venv/unfinished $@
