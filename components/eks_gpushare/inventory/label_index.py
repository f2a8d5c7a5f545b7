"""Nodes by their labels, so that those a pod selects are found without asking each."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from eks_gpushare.inventory.matching import required_terms
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, items, pairs, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from eks_gpushare.inventory.nodes import NodeKind


class LabelIndex:
    """Positions of nodes in a list, by label."""

    def __init__(self, kinds: Sequence[NodeKind]) -> None:
        self._all = frozenset(range(len(kinds)))
        self._known: dict[str, dict[Any, set[int]]] = {}
        """Label to value to nodes, `UNKNOWN` among the values."""
        self._alike: dict[Any, tuple[NodeKind, set[int]]] = {}
        """Nodes that answer alike of labels they are not known to have."""
        self._unsaid: dict[str, frozenset[int]] = {}
        self._found: dict[tuple[Any, ...], frozenset[int]] = {}
        for position, kind in enumerate(kinds):
            for key, value in kind.known_labels.items():
                shown = UNKNOWN if value is UNKNOWN else str(text(value))
                self._known.setdefault(key, defaultdict(set))[shown].add(position)
            may_have = (kind.has_more_labels, kind.is_labelled_by_boot, kind.is_partial)
            alike = (*may_have, kind.nodes.provisioner, id(kind.by_hand))
            self._alike.setdefault(alike, (kind, set()))[1].add(position)

    def having(self, labels: Mapping[str, str]) -> list[int]:
        """Nodes that are known to have all of some labels, in their order."""
        found = [self._known.get(key, {}).get(value, set()) for key, value in labels.items()]
        return sorted(set.intersection(*found)) if found else []

    def meeting(self, spec: Any) -> frozenset[int] | None:
        """Nodes with all labels that a pod wants, and perhaps more; None for all of them.

        Whoever is not among them lacks one for certain.
        """
        found = None
        for positions in self._wants(spec):
            if positions is not None:
                found = positions if found is None else found & positions
        return found

    def meeting_any(self, spec: Any) -> frozenset[int] | None:
        """Nodes with one of the labels that a pod wants and others have not; None for all.

        The others have none of them.
        """
        found: frozenset[int] = frozenset()
        for positions in self._wants(spec):
            if positions is None:
                return None
            if positions != self._all:
                found |= positions
        return found

    def _wants(self, spec: Any) -> Iterator[frozenset[int] | None]:
        """Of each thing that a pod wants of labels the nodes that may have it; None if unknown."""
        for key, value in pairs(at(spec, "nodeSelector")):
            yield self.may_have(key, [text(value)])
        terms = required_terms(spec)
        if terms is not None:
            found = None if terms is UNKNOWN else self.meeting_terms(items(terms))
            yield None if found == self._all else found

    def meeting_terms(self, terms: Iterable[Any]) -> frozenset[int] | None:
        """Nodes that meet one of some terms, and perhaps more; None for all of them."""
        found: frozenset[int] = frozenset()
        for term in terms:
            of_term = None
            for expression in items(at(term, "matchExpressions")):
                key, values = text(at(expression, "key")), at(expression, "values")
                if at(expression, "operator") == "In" and UNKNOWN not in (key, values):
                    having = self.may_have(key, [text(value) for value in items(values)])
                    of_term = having if of_term is None else of_term & having
            if of_term is None:  # it is by something else that the term selects
                return None
            found |= of_term
        return found

    def may_have(self, key: str, values: Sequence[Any]) -> frozenset[int]:
        """Nodes whose label has one of some values, or may have it."""
        asked = (key, *values)
        if asked not in self._found:
            by_value = self._known.get(key, {})
            wanted = by_value if UNKNOWN in values else (*values, UNKNOWN)
            having = (by_value.get(label, ()) for label in wanted)
            self._found[asked] = self._with_unsaid(key).union(*having)
        return self._found[asked]

    def _with_unsaid(self, key: str) -> frozenset[int]:
        """Nodes that may have a label of which they say nothing."""
        if key not in self._unsaid:
            known = set().union(*self._known.get(key, {}).values())
            self._unsaid[key] = frozenset().union(
                *(
                    positions - known
                    for kind, positions in self._alike.values()
                    if kind.label_of_others(key) is UNKNOWN
                )
            )
        return self._unsaid[key]
