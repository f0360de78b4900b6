"""The AsyncAPI document against the file that is shipped.

After a deliberate change run `PROCTOR_REWRITE_GOLDENS=1 pytest tests/contracts/test_asyncapi.py`, and read
the difference.
"""

from __future__ import annotations

import json
import os
from importlib.resources import files
from pathlib import Path

from proctor_chassis.bus.asyncapi import document, model_of
from proctor_contracts.topology import DEAD, work_queues

SHIPPED = files("proctor_contracts") / "asyncapi.json"


def test_the_document_is_the_one_that_is_shipped() -> None:
    written = document()
    if os.environ.get("PROCTOR_REWRITE_GOLDENS"):
        Path(str(SHIPPED)).write_text(written, encoding="utf-8")
    assert json.loads(SHIPPED.read_text(encoding="utf-8")) == json.loads(written)


def test_every_queue_and_what_travels_there_is_described() -> None:
    found = json.loads(document())
    described = {channel["address"] for channel in found["channels"].values()}
    keys = {b.key for queue in work_queues() for b in queue.bindings if b.exchange != DEAD}
    assert keys <= described
    assert {model_of(key).__name__ for key in keys} <= set(found["components"]["schemas"])
