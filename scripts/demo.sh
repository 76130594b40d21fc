#!/usr/bin/env bash
# The whole job on the built-in detectors and images; the report's path is printed last.
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
ensure_environment ""
echo "Running the demo: two detectors, three suites, one and a half to three minutes ..." >&2
exec .venv/bin/uamt demo "$@"
