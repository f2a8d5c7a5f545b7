"""The tables of alerts, and of whom numbers are, in the pages about monitoring."""

from __future__ import annotations

import re

from eks_gpushare.config.observability import AlertSettings, ServiceObjectives
from eks_gpushare.config.pools import Pool
from eks_gpushare.sharing.metrics import QUANTITIES, measured_share
from eks_gpushare.sharing.monitoring.alerts import ALERT_NAMES, alerts
from eks_gpushare.sharing.monitoring.boards import honesty_rows

_MODES = {
    "exclusive": ({"mode": "exclusive"}, "nvidia.com/gpu", {}),
    "time slicing": ({"mode": "timeSlicing", "replicas": 4}, "nvidia.com/gpu", {}),
    "MPS": ({"mode": "mps", "replicas": 4}, "nvidia.com/gpu", {}),
    "MIG": ({"mode": "mig", "layout": "all-1g.5gb"}, "nvidia.com/mig-1g.5gb", {}),
    "MIG, GPUs left whole": ({"mode": "mig", "layout": "all-1g.5gb"}, "nvidia.com/gpu", {}),
    "MIG with time slicing": (
        {"mode": "mig", "layout": "all-1g.5gb", "timeSlicing": {"replicas": 2}},
        "nvidia.com/mig-1g.5gb",
        {},
    ),
    "any, on Bottlerocket": (
        {"mode": "timeSlicing", "replicas": 4},
        "nvidia.com/gpu",
        {"amiFamily": "bottlerocket"},
    ),
}


def measured_page(page: str) -> str:
    """The page of monitoring with the table of whom numbers are."""
    rows = []
    for mode, (sharing, resource, more) in _MODES.items():
        given = {"instanceTypes": ["p4d.24xlarge"], "sharing": sharing, **more}
        share = measured_share(mode, Pool.model_validate(given), resource)
        ((_, _, *told),) = honesty_rows([share])
        rows.append((mode, *told))
    return _within(page, "measured", ("sharing", *QUANTITIES, "why"), rows)


def alerts_page(page: str) -> str:
    """The page of alerts with the table of all of them."""
    settings, known = AlertSettings(), alerts(ServiceObjectives(), 1800)
    rows: list[tuple[str, ...]] = []
    for name in ALERT_NAMES:
        own = [alert for alert in known if alert.name == name]
        rules = [alert.as_json(settings) for alert in own]
        rows.append(
            (
                f"[{name}](#{name.lower()})",
                " or ".join(dict.fromkeys(rule["labels"]["severity"] for rule in rules)),
                " or ".join(
                    dict.fromkeys(
                        "at once" if each.lasting == "0s" else each.lasting for each in own
                    )
                ),
                " ".join(dict.fromkeys(_NEEDS[each.needs] for each in own)),
            )
        )
    return _within(page, "alerts", ("alert", "severity", "once it has lasted", "in stacks"), rows)


_NEEDS = {
    "shares": "all",
    "gpus": "with pools that are measured",
    "mig": "with measured MIG pools",
    "shared": "with measured pools whose GPUs pods share",
    "most": "with a most number of nodes,",
    "limits": "or with limits of Karpenter's",
    "tenants": "with tenants",
    "verifier": "with a verifier that has metrics",
}


def _within(page: str, name: str, head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = (head, ("---",) * len(head), *rows)
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    around = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
    return around.sub(lambda found: f"{found[1]}{table}\n{found[2]}", page)
