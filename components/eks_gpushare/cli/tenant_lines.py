"""Tenants as text: what each is sure of, what it costs, and whom it may meet on a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.facts.isolation import WHAT_REACHES
from eks_gpushare.findings.text import wrapped
from eks_gpushare.sharing.tenants import PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def tenant_lines(tenants: Mapping[str, Any], width: int) -> Iterator[str]:
    """A title, and some lines for each tenant, of at most this width.

    Args:
        tenants: Tenants as the stack's outputs show them.
        width: Columns.
    """
    yield "Tenants"
    for name, tenant in tenants.items():
        spaces = ", ".join(tenant["namespaces"])
        cost = "" if tenant["costCenter"] is None else f", cost centre {tenant['costCenter']}"
        kind = "namespaces" if len(tenant["namespaces"]) > 1 else "namespace"
        head = f"{name}: {kind} {spaces}, isolation {tenant['isolation']}{cost}"
        yield from wrapped(f"{head}, {_dollars(tenant['usdPerHour'])}", width, "    ", "  ")
        for pool, contract in tenant["pools"].items():
            sure = ", ".join(
                f"{count} {resource.removeprefix(PREFIX)}"
                for resource, count in contract["guaranteed"].items()
            )
            if contract["maximum"] != contract["guaranteed"]:
                sure += f", at most {_most(contract)} with what others leave"
            met = ", ".join(contract["meets"]) or "no other tenant"
            said = (
                f"{pool}: sure of {sure}; {_dollars(contract['usdPerHour'])}; on its GPUs or MIG "
            )
            yield from wrapped(f"{said}devices it meets {met}", width, "      ", "    ")
            if contract["rounded"]:
                yield from wrapped(contract["rounded"], width, "        ", "      ")


def matrix_lines(tenants: Mapping[str, Any], width: int) -> Iterator[str]:
    """A title, and who may meet whom on one GPU: a table, or lines where it would be too wide.

    Args:
        tenants: Tenants as the stack's outputs show them.
        width: Columns.
    """
    yield "Who may meet whom on one GPU"
    met = {name: tenant["neighbours"] for name, tenant in tenants.items()}
    kinds = {kind for others in met.values() for kind in others.values()}
    rows = [[_WORDS.get(others.get(name), "-") for name in met] for others in met.values()]
    first = max(map(len, met), default=0)
    by_column = zip(met, *rows, strict=True)
    columns = [max(map(len, cells)) for cells in by_column]
    if first + sum(columns) + 2 * len(columns) + 2 <= width:
        head = zip(tenants, columns, strict=True)
        yield "  " + "  ".join([" " * first, *(name.ljust(n) for name, n in head)]).rstrip()
        for name, row in zip(tenants, rows, strict=True):
            cells = (cell.ljust(n) for cell, n in zip(row, columns, strict=True))
            yield "  " + "  ".join([name.ljust(first), *cells]).rstrip()
    else:
        for name, others in met.items():
            yield from wrapped(f"{name}: {_met(others)}", width, "    ", "  ")
    for kind, what in WHAT_REACHES.items():
        if kind in kinds:
            yield from wrapped(f"{_WORDS[kind]}: {what}", width, "    ", "  ")


_WORDS: dict[Any, str] = {"exclusive": "node", "mps": "MPS", "timeSlicing": "turns"}


def _met(neighbours: Mapping[str, str]) -> str:
    said = []
    for kind, word in _WORDS.items():
        names = [name for name, how in neighbours.items() if how == kind]
        if names:
            said.append(f"{word} with {', '.join(names)}")
    return "; ".join(said) or "nobody"


def _most(contract: Mapping[str, Any]) -> str:
    if contract["maximumGiB"] is not None:
        return f"{contract['maximumGiB']} GiB"
    return ", ".join(
        f"{count} {resource.removeprefix(PREFIX)}"
        for resource, count in contract["maximum"].items()
    )


def _dollars(usd: float | None) -> str:
    return "price unknown" if usd is None else f"{usd:.4f} $/hour"
