# Needs Python >= 3.10 and make; everything else goes into virtual environments here.
PYTHON ?= python3
# Host tests run on the CPU; any build of torch will do, for instance TORCH=torch.
TORCH ?= torch==2.13.0
# What `make bench` measures in place of the bundled examples and a tokenizer that it trains, for
# instance BENCH="--data cases.jsonl.xz --tokenizer tokenizer.json --eos '</s>'".
BENCH ?=
# What `make fuzz` does beyond a minute with seed 0, for instance FUZZ="--seconds 3600 --seed 7".
FUZZ ?=

VENV := .venv
HOSTS := .venv-hosts
PIP := -m pip install --quiet --disable-pip-version-check

.PHONY: demo test test-slow test-hosts test-hosts-llama-cpp test-hosts-servers fuzz bench lint clean

demo: $(VENV)/.demo
	$(VENV)/bin/python -m constrain.demo

test: lint
	$(VENV)/bin/python -m pytest -q --ignore=tests/hosts -m 'not slow'

test-slow: $(VENV)/.dev
	$(VENV)/bin/python -m pytest -q --ignore=tests/hosts -m slow

fuzz: $(VENV)/.dev
	$(VENV)/bin/python -m fuzz $(FUZZ)

lint: $(VENV)/.dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy

test-hosts: $(HOSTS)/.hosts
	$(HOSTS)/bin/python -m pytest -q tests/hosts

# llama-cpp-python compiles llama.cpp, which takes minutes; without instructions that a virtual machine may lack.
test-hosts-llama-cpp: $(HOSTS)/.hosts
	CMAKE_ARGS=-DGGML_NATIVE=OFF $(HOSTS)/bin/python $(PIP) --no-cache-dir 'llama-cpp-python>=0.3.5'
	$(HOSTS)/bin/python -m pytest -q tests/hosts/test_llama_cpp.py tests/adapters/test_llama_cpp.py

# The interface classes of servers, from their wheels, without what they need to run: some hundred MB.
test-hosts-servers: $(HOSTS)/.hosts
	$(HOSTS)/bin/python $(PIP) --no-deps vllm==0.33.0 sglang==0.5.23
	$(HOSTS)/bin/python $(PIP) -r tests/hosts/servers.txt
	$(HOSTS)/bin/python -m pytest -q tests/adapters/test_vllm.py tests/adapters/test_sglang.py

bench: $(VENV)/.bench
	$(VENV)/bin/python benchmarks/report.py --out docs/benchmarks/report.md $(BENCH)

# One file per set of extras marks that it is installed; a change of pyproject.toml installs again.
$(VENV)/.%: pyproject.toml | $(VENV)/bin/python
	$(VENV)/bin/python $(PIP) -e '.[$*]'
	touch $@

$(HOSTS)/.hosts: pyproject.toml | $(HOSTS)/bin/python
	$(HOSTS)/bin/python $(PIP) '$(TORCH)'
	$(HOSTS)/bin/python $(PIP) -e '.[hosts]'
	touch $@

$(VENV)/bin/python $(HOSTS)/bin/python:
	$(PYTHON) -m venv $(patsubst %/bin/python,%,$@)

clean:
	rm -rf $(VENV) $(HOSTS) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
