"""The conformance suite: what any hypervisor driver has to pass, check by check."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial

from tests.drivers.checks import disks, fencing, fleet, images, power, repeating, serial, volumes
from tests.drivers.harness import DriverCase
from tests.drivers.verbs import VERBS

Check = Callable[[DriverCase], None]


def _checks() -> dict[str, Check]:
    """Return every public check of the modules, parametrised by verb where a check takes one."""
    checks: dict[str, Check] = {}
    for module in (repeating, fencing, power, disks, fleet, volumes, images, serial):
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if function.__module__ != module.__name__ or name.startswith("_"):
                continue
            if "verb" in inspect.signature(function).parameters:
                checks |= {f"{name}: {verb.__name__}": partial(function, verb=verb) for verb in VERBS}
            else:
                checks[name] = function
    return checks


CHECKS = _checks()
