# make train   set up once, compile the kernels, train a classifier on handwritten digits
# make test    set up once, then lint, type-check and test
#
# Both need only python3 (>= 3.11) and make. PYTHON=... names another interpreter.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# Tests that run a second time with arrays on a stand-in for a GPU (tests/cuda/standin): operators, layers, training,
# kvstores, files. The slowest tests, and tests of the CPU alone, are left out. `make test` also leaves to `make stress`
# the long ones whose code for GPUs other tests run, too.
ALL_ON_GPU := tests/ndarray $(foreach name,gradients native updates,--ignore tests/ndarray/test_$(name).py) \
  tests/gluon/layers $(foreach name,files gpus loss model_zoo nn parameter trainer,tests/gluon/test_$(name).py) \
  tests/kvstore/test_store.py tests/kvstore/test_compression.py tests/runtime/test_autograd.py
ON_GPU := $(filter-out %/test_model_zoo.py,$(ALL_ON_GPU)) $(addprefix --deselect tests/ndarray/, \
  test_detection.py::test_gradients_of_deformable_networks test_files.py::test_flipped_bytes_do_no_harm \
  test_index.py::test_keys_are_numpys test_sparse.py::test_csr_arrays_read_as_the_dense_ones)

# Tests start hundreds of processes, each of which would compile the sources again.
export PYTHONDONTWRITEBYTECODE :=

# Two processes, because most tests keep one core busy.
PYTEST := $(BIN)/python -m pytest -q -n 2 --dist worksteal

.PHONY: help setup train test test-quick lint types stress users arm torch-versions mutants bench gpu pages format clean

help:
	@echo "make train    compile the kernels and train the digits example"
	@echo "make test     lint, type-check and run the tests"
	@echo "make test-quick PART='torch cli'   the same, with the tests in these folders of tests/ alone"
	@echo "make bench    time the steps of all optimizers beside the memory ceiling and installed peers"
	@echo "make gpu      run the tests that need a GPU; print how to time steps on it"
	@echo "make stress   run the long tests"
	@echo "make users    run the snippets of docs/pytorch.md with transformers, accelerate, Lightning, peft and DeepSpeed"
	@echo "make arm      run the kernels of all specs on an emulated 64-bit Arm"
	@echo "make torch-versions VERSIONS='2.6.0 2.14.1'   run the tests of optgen.torch with each of these versions of PyTorch"
	@echo "make mutants  put faults into the code, N=60 of them, FILES=optgen/passes; tell which no test notices (a minute"
	@echo "              each; the first time, make test is run before)"
	@echo "make pages    look at pages of the gallery and reports in Chromium, light and dark, narrow and wide"
	@echo "make format   format the Python sources and the specs"
	@echo "make clean    remove what was built, except $(VENV)"

setup: $(READY)

$(READY): pyproject.toml setup.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "make: Python 3.11 or newer is needed; try make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' || \
	  { echo "make: this python3 lacks venv or ensurepip; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@test -x $(BIN)/python || { echo "making $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@echo "installing into $(VENV) (once)"
# compat: the packages are found by a path, so that a script beside this folder finds them even if the folder is called
# optgen.
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --config-settings editable_mode=compat \
	  --editable '.[dev,examples]'
	@touch $@

train: $(READY)
	$(BIN)/optgen build --kernels
	$(BIN)/python -m runtime.native
	$(BIN)/python examples/digits/train.py

test: lint types
	$(PYTEST)
	$(PYTEST) --on-gpu $(ON_GPU)

PART := lang ir symbolic cli
test-quick: lint types
	$(PYTEST) -rs $(addprefix tests/,$(PART)) tests/counts tests/test_imports.py

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

stress: $(READY)
	$(PYTEST) -m stress
	$(PYTEST) --on-gpu -m '' $(ALL_ON_GPU)
	$(MAKE) users

# The libraries of the extra `users` lie in an environment of their own, which finds PyTorch and all else in $(VENV).
# The interpreter is that of $(VENV), beside which MPI's libraries are looked for.
SITE := -c 'import sysconfig; print(sysconfig.get_path("purelib"))'
users: $(READY) .users/.ready
	PYTHONPATH=$$(.users/bin/python $(SITE)) $(BIN)/python -m pytest -q -rs -m stress tests/torch/users

.users/.ready: pyproject.toml | $(READY)
	@test -x $(@D)/bin/python || { echo "making $(@D)"; $(BIN)/python -m venv $(@D); }
	@$(BIN)/python $(SITE) > $$($(@D)/bin/python $(SITE))/base.pth
	@echo "installing libraries that use optgen.torch into $(@D) (once)"
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --config-settings editable_mode=compat \
	  --editable '.[users]' torch==2.13.0
	@touch $@

# This machine's interpreter writes the bits of every spec, and kernels that the emulated machine compiles and runs must
# give the same ones. What is left out there: qemu 7.2 aborts where a process of several threads forks, and it does not
# pass on the limits of memory that a program sets for itself.
ON_ARM := $(foreach name,differential stages pool native link,tests/compiler/test_$(name).py) \
  tests/linalg/test_own_products.py tests/gluon/test_trainer.py
NOT_ON_ARM := test_fork or no_memory or no_mappings or mappings_between or ask_for_more
ARM_PYTEST := PYTHONPATH=$(CURDIR) OPTGEN_BITS=.arm/bits $(PYTEST:$(BIN)/%=.arm/root/usr/bin/%)
arm: $(READY) .arm/.ready
	rm -rf .arm/bits
	mkdir .arm/bits
	OPTGEN_BITS=.arm/bits $(PYTEST) -m stress -k another_machine --update-golden tests/compiler/test_every_spec.py
	$(ARM_PYTEST) -m stress tests/compiler/test_every_spec.py
	$(ARM_PYTEST) -k 'not ($(NOT_ON_ARM))' $(ON_ARM)

.arm/.ready: tests/arm_root.sh pyproject.toml | $(READY)
	@rm -rf .arm
	@sh $< $(@D) $(BIN)/python
	@touch $@

# An environment for each version of PyTorch. The tests of one run whether or not those of another have failed.
VERSIONS := 2.6.0 2.14.1
WITH_TORCH := $(VERSIONS:%=.torch-versions/%/.ready)
torch-versions: $(WITH_TORCH)
	@failed=; for version in $(VERSIONS); do \
	  echo "tests/torch with PyTorch $$version"; \
	  .torch-versions/$$version/bin/python -m pytest -q -n 2 --dist worksteal -rs tests/torch || \
	    failed="$$failed $$version"; \
	done; test -z "$$failed" || { echo "make: tests failed with PyTorch$$failed" >&2; exit 1; }

$(WITH_TORCH): .torch-versions/%/.ready: pyproject.toml setup.py
	@test -x $(@D)/bin/python || { echo "making $(@D)"; $(PYTHON) -m venv $(@D); }
	@echo "installing PyTorch $* into $(@D) (once)"
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --config-settings editable_mode=compat \
	  --editable '.[test]' torch==$*
	@touch $@

N := 60
SEED := 0
FILES := optgen runtime
mutants: $(READY)
	$(BIN)/python -m tests.mutants -n $(N) --seed $(SEED) $(FILES)

bench: $(READY)
	$(BIN)/python benchmarks/step.py

# Screenshots of all kinds of pages are left in .pages/, for people to look at.
pages: $(READY)
	$(BIN)/python -m tests.pages.look .pages

gpu: $(READY)
	$(BIN)/python -m pytest -q -rs tests/gpu
	@echo "benchmarks: $(BIN)/python benchmarks/gpu.py (needs PyTorch; --quick: one minute, else eight)"

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/optgen fmt

clean:
	find generated -mindepth 1 ! -name README.md ! -path 'generated/example*' -delete
	rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find optgen runtime tests examples benchmarks -name __pycache__ -prune -exec rm -rf {} +
