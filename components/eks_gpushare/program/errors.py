"""The error of a plan."""

from __future__ import annotations


class PlanError(Exception):
    """A registration or call that neither the engine nor any fake would take.

    `source` is ``file:line`` of the user's program, ``""`` where unknown.
    """

    def __init__(self, text: str, source: str = "") -> None:
        super().__init__(text)
        self.source = source
