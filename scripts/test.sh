#!/usr/bin/env bash
# Lint, types, doctests and the whole test suite, without network or GPU.
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
ensure_environment "[dev,docs]"
export CUDA_MODULE_LOADING=LAZY OMP_NUM_THREADS=1
unset PYTHONDONTWRITEBYTECODE  # each of some hundred processes would compile all modules again
# The project's own folders: what a user keeps beside them is no concern of its checks.
sources=(uamt mutators runners scoring tests scripts docs)
.venv/bin/ruff check "${sources[@]}"
.venv/bin/ruff format --check "${sources[@]}"
# Types are checked while the tests run; what mypy says comes last.
.venv/bin/mypy >.venv/mypy.log 2>&1 &
types=$! code=0
.venv/bin/python -m pytest --doctest-modules -n "${TEST_WORKERS:-3}" --dist worksteal "$@" || code=$?
wait "$types" || code=1
cat .venv/mypy.log
exit "$code"
