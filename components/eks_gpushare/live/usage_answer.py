"""The answer of Prometheus' HTTP API to a query, at one time or at several.

https://prometheus.io/docs/prometheus/latest/querying/api/#expression-query-result-formats. Managed
Prometheus, Thanos and Mimir answer in the same form.
"""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.documents.reading import read_bytes, reason
from eks_gpushare.findings.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_MOST_BYTES: Final = 256 * 1024 * 1024
_MOST: Final = 1_000_000_000.0
"""Beyond what anything has of shares."""
_FINEST: Final = 1_000_000_000
_LAST: Final = 250_000_000_000
"""Seconds of the year 9892, beyond which nothing is a time."""
_TOLD: Final = 5
_OF_SCRAPES: Final = frozenset(
    {
        *("endpoint", "instance", "job", "service"),
        *("prometheus", "prometheus_replica", "replica"),
    }
)
"""Labels that say who told a series, and not what it is of."""
_HOW: Final = (
    "Save the answer of Prometheus' HTTP API to the query of docs/cost.md as it is, such as by "
    "curl --get URL/api/v1/query --data-urlencode query@FILE."
)


class UsageAnswerError(Exception):
    """A file is no answer that can be used; the text says why, and what to do."""


class UsageSeries(NamedTuple):
    """One series of an answer."""

    labels: Mapping[str, str]
    points: Mapping[float, Fraction]
    """Values by their times, in seconds since 1970."""

    def __str__(self) -> str:
        named = ", ".join(f'{key}="{value}"' for key, value in self.labels.items())
        return printable(f"{{{named}}}")


class UsageAnswer(NamedTuple):
    """What a file holds."""

    file: str
    times: tuple[float, ...]
    """All of its times, in order; of an instant query one."""
    series: tuple[UsageSeries, ...]
    warnings: tuple[str, ...]
    """What Prometheus says beside, such as that a part of the data is missing."""

    @property
    def start(self) -> datetime:
        """The first time."""
        return datetime.fromtimestamp(self.times[0], tz=UTC)

    @property
    def end(self) -> datetime:
        """The last time."""
        return datetime.fromtimestamp(self.times[-1], tz=UTC)


def read_answer(file: str) -> UsageAnswer:
    """Read an answer.

    Args:
        file: The file, or `-`.

    Raises:
        UsageAnswerError: If it cannot be read, or is something else.
    """
    try:
        given = json.loads(read_bytes(file, _MOST_BYTES).decode("utf-8-sig"))
    except OSError as error:
        raise UsageAnswerError(f"{file} cannot be read: {reason(error)}.") from None
    except RecursionError:
        raise UsageAnswerError(f"{file} cannot be read: it is nested too deeply.") from None
    except ValueError as error:
        raise UsageAnswerError(f"{file} is no JSON: {error}. {_HOW}") from None
    result, kind = _result(file, given)
    faults: list[str] = []
    series = tuple(
        found
        for at, each in enumerate(result)
        for found in _series(each, kind, f"data.result[{at}]", faults)
    )
    faults += _copies(series)
    if faults:
        more = f" {len(faults) - _TOLD} more are like that." if len(faults) > _TOLD else ""
        raise UsageAnswerError(f"{file}: {' '.join(faults[:_TOLD])}{more} {_HOW}")
    times = {time for each in series for time in each.points}
    if not times:
        raise UsageAnswerError(f"{file} has no series: nothing matched its query. {_HOW}")
    warnings = given.get("warnings") or []
    told = tuple(str(each) for each in warnings) if isinstance(warnings, list) else ()
    return UsageAnswer(file, tuple(sorted(times)), series, told)


def _result(file: str, given: Any) -> tuple[list[Any], str]:
    """The list of series and their type."""
    status = given.get("status") if isinstance(given, dict) else None
    if status == "error":
        said = f"{given.get('errorType', 'error')}: {given.get('error', 'nothing more is said')}"
        raise UsageAnswerError(f"{file}: Prometheus refused the query: {printable(str(said))}.")
    if status != "success":
        raise UsageAnswerError(f'{file} is no answer of Prometheus: it has no "status". {_HOW}')
    data = given.get("data")
    if not isinstance(data, dict):
        raise UsageAnswerError(f'{file} is no answer of Prometheus: it has no "data". {_HOW}')
    kind, result = data.get("resultType"), data.get("result")
    if not isinstance(result, list):
        raise UsageAnswerError(f"{file} is no answer of Prometheus: data.result is no list. {_HOW}")
    if kind not in {"vector", "matrix"}:
        said = f"{file}: data.resultType is {kind!r}; a vector or a matrix is needed."
        raise UsageAnswerError(f"{printable(said)} {_HOW}")
    return result, str(kind)


def _copies(series: Iterable[UsageSeries]) -> Iterator[str]:
    """Series that are there twice, as files put together have them, or two of Prometheus."""
    seen: set[frozenset[tuple[str, str]]] = set()
    for each in series:
        key = frozenset(pair for pair in each.labels.items() if pair[0] not in _OF_SCRAPES)
        if key in seen:
            yield f"{each} is there twice, so that what it says would count twice."
        seen.add(key)


def _series(given: Any, kind: str, where: str, faults: list[str]) -> Iterator[UsageSeries]:
    """One series; nothing where something is wrong with it, which goes to the faults."""
    labels = given.get("metric") if isinstance(given, dict) else None
    if not isinstance(labels, dict) or not all(isinstance(one, str) for one in labels.values()):
        faults.append(f"{where} has no labels.")
        return
    values = given.get("values") if kind == "matrix" else [given.get("value")]
    points: dict[float, Fraction] = {}
    for value in values if isinstance(values, list) else [None]:
        match value:
            case [int() | float() as time, str() as text] if 0 <= time < _LAST:
                number = _number(text)
            case _:
                faults.append(f"{where} has a value that is no time with a number.")
                return
        if isinstance(number, str):
            faults.append(f"{where} has the value {printable(text)!r}, {number}.")
            return
        points[float(time)] = number
    yield UsageSeries(labels, points)


def _number(text: str) -> Fraction | str:
    """A number of shares, or why it is none."""
    try:
        found = float(text.replace("_", " "))
    except ValueError:
        return "which is no number"
    if math.isnan(found):
        return "which is no number: a share is held or not"
    if found < 0:
        return "and nobody holds less than nothing"
    if found > _MOST:
        return f"and no cluster has more than {_MOST:,.0f} shares"
    return Fraction(found).limit_denominator(_FINEST)
