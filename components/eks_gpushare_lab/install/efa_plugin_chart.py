"""What AWS's chart of the EFA device plugin makes of its values.

Held against what the chart renders by tests/lab/test_lab_charts.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare_lab.install.chart_template import Pods, container, daemon_set, full_name
from eks_gpushare_lab.install.release import facts_of, scheduling, values_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare_lab.client import Object
    from eks_gpushare_lab.install.release import DeclaredRelease

_PROGRAM = "aws-efa-k8s-device-plugin"
_NOT_AUTO = {"key": "eks.amazonaws.com/compute-type", "operator": "NotIn", "values": ["auto"]}
_CRITICAL = {"key": "CriticalAddonsOnly", "operator": "Exists"}


def render(release: DeclaredRelease) -> Iterator[Object]:
    """The objects that matter here."""
    values = values_of(release)
    where = {
        **scheduling(facts_of(release)["daemonSets"][_PROGRAM], release),
        # These two are written by the template, around the values.
        "affinity": _affinity(values["supportedInstanceLabels"]),
        "tolerations": [_CRITICAL, *values["tolerations"]],
    }
    image = values["image"]
    main = container(_PROGRAM, f"{image['repository']}:{image['tag']}", {})
    main["name"] = _PROGRAM
    del main["command"]  # it is the image's own
    pods = Pods([main], scheduling=where)
    yield daemon_set(full_name(release, values), release.namespace, _PROGRAM, release.name, pods)


def _affinity(labels: Mapping[str, Any]) -> Object:
    """A term for each key; what keeps it off Auto Mode stands in the last one alone."""
    wanted = labels["values"]
    terms = [[{"key": key, "operator": "In", "values": wanted}] for key in labels["keys"]]
    terms[-1].append(_NOT_AUTO)
    chosen = {"nodeSelectorTerms": [{"matchExpressions": term} for term in terms]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": chosen}}
