"""Some of the tests of resources, through a dialect. A soak runs all of them so: ``make soak PIECE=dialect``."""

from __future__ import annotations

from tests.resources.test_event_stream import *  # noqa: F403
from tests.resources.test_events import *  # noqa: F403
from tests.resources.test_tags import *  # noqa: F403
