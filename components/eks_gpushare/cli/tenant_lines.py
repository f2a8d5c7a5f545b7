"""Tenants as text: what each is sure of, what it costs, and whom it may meet on a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
        head = f"{name}: namespace {spaces}, isolation {tenant['isolation']}{cost}"
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


def _most(contract: Mapping[str, Any]) -> str:
    if contract["maximumGiB"] is not None:
        return f"{contract['maximumGiB']} GiB"
    return ", ".join(
        f"{count} {resource.removeprefix(PREFIX)}"
        for resource, count in contract["maximum"].items()
    )


def _dollars(usd: float | None) -> str:
    return "price unknown" if usd is None else f"{usd:.4f} $/hour"
