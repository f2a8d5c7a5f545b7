"""Arguments that were checked before a component is given them, and need not be checked again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from eks_gpushare.config.base import Model
from eks_gpushare.inputs.late_values import dump

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eks_gpushare.findings.finding import Finding

M = TypeVar("M", bound=Model)


class CheckedArgs(dict[str, Any]):
    """Arguments as plain data, and the checked model they say the same as.

    To everybody else a dictionary like any other: a copy of it, and whatever is changed in it, is
    checked like arguments that somebody wrote.
    """

    __slots__ = ("_as_checked", "_found", "_spec")

    def __init__(
        self,
        spec: Model,
        found: Iterable[Finding] = (),
        **beside: Any,
    ) -> None:
        """Write a checked model out.

        Args:
            spec: The model.
            found: What checking it found, of which nothing is an error.
            beside: Arguments that the model does not have.
        """
        super().__init__(dump(spec, exclude_unset=True), **beside)
        self._spec, self._found = spec, tuple(found)
        self._as_checked = _copied(dict(self))

    def __reduce__(self) -> tuple[type[dict[str, Any]], tuple[dict[str, Any]]]:
        return dict, (dict(self),)  # so copies of every depth are plain

    def known(self, model: type[M]) -> tuple[M, tuple[Finding, ...]] | None:
        """The model and what was found; None if it is another, or if something was changed."""
        if isinstance(self._spec, model) and dict(self) == self._as_checked:
            return self._spec, self._found
        return None


def _copied(value: Any) -> Any:
    """A copy of every depth, but for outputs, which cannot be copied and do not change."""
    if isinstance(value, dict):
        return {key: _copied(inner) for key, inner in value.items()}
    return [_copied(inner) for inner in value] if isinstance(value, list) else value


def known_spec(args: object, model: type[M]) -> M | None:
    """The model of arguments that were checked before; None for all others."""
    known = args.known(model) if isinstance(args, CheckedArgs) else None
    return known[0] if known else None
