"""The events of one YAML text, counted, and what is found wrong among them with its place."""

from __future__ import annotations

from typing import Any, NoReturn, TypeAlias

import yaml  # type: ignore[import-untyped,unused-ignore]  # its stubs are a separate package

from eks_gpushare.stack_file.yaml_problems import StopReadingError, YamlProblem, syntax_problem

Event: TypeAlias = Any
"""PyYAML's events have no types."""


class EventReader:
    """What readers of YAML have in common; use each instance once.

    Args:
        text: The text.
        most_items: Most keys and values that are read, each alias counted with everything it stands
            for.
        most_problems: With so many problems, reading stops.
    """

    def __init__(self, text: str, *, most_items: int, most_problems: int) -> None:
        self.problems: list[YamlProblem] = []
        """What was found wrong, in the order of finding."""
        self.items = 0
        """How many keys and values were read."""
        self._text = text
        loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        self._next_event = loader(text).get_event
        self._most_items = most_items
        self._most_problems = most_problems
        self._path: list[str | int] = []

    def _event(self) -> Event:
        try:
            return self._next_event()
        # Besides its own errors PyYAML lets those of chr() and int() through.
        except (yaml.YAMLError, ValueError, OverflowError) as error:
            raise StopReadingError(syntax_problem(self._text, error)) from None

    def _count(self, event: Event, items: int) -> None:
        self.items += items
        if self.items > self._most_items:
            message = f"more than {self._most_items:,} keys and values, with aliases written out"
            self._stop("size", event, message)

    def _report(self, kind: str, event: Event, message: str, fix: str = "") -> None:
        self.problems.append(self._problem(kind, event, message, fix))
        if len(self.problems) >= self._most_problems:
            self._stop("size", event, "too many problems to list them all")

    def _stop(self, kind: str, event: Event, message: str, fix: str = "") -> NoReturn:
        raise StopReadingError(self._problem(kind, event, message, fix))

    def _problem(self, kind: str, event: Event, message: str, fix: str) -> YamlProblem:
        line, column = event.start_mark.line + 1, event.start_mark.column + 1
        return YamlProblem(message, line, column, kind, tuple(self._path), fix)
