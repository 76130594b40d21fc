"""What all tests share."""

from __future__ import annotations

import gc
import signal


def pytest_configure() -> None:
    gc.disable()  # while modules are imported, of which nothing is to be collected
    # A shell starts its background jobs deaf to SIGINT, and what tests start would inherit that.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    # Modules and tests stay until the end. Unfrozen, each full collection walks through them all,
    # and statsmodels asks for one in every call of multipletests.
    gc.collect()
    gc.freeze()
    gc.enable()
