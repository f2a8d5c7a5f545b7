"""What NVIDIA's chart of the DCGM exporter makes of its values.

Held against what the chart renders by tests/lab/test_lab_charts.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare_lab.install.chart_template import Pods, container, daemon_set, full_name
from eks_gpushare_lab.install.release import facts_of, scheduling, values_of
from eks_gpushare_lab.simulated_node.pods import EXPORTER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare_lab.client import Object
    from eks_gpushare_lab.install.release import DeclaredRelease

_PROGRAM = "exporter"


def render(release: DeclaredRelease) -> Iterator[Object]:
    """The objects that matter here."""
    values = values_of(release)
    image = values["image"]
    main = container(EXPORTER, f"{image['repository']}:{image['tag']}", {})
    main["name"] = _PROGRAM
    del main["command"]  # it is the image's own
    if values["extraEnv"]:
        main["env"] = values["extraEnv"]
    pods = Pods(
        [main],
        volumes=list(values["extraConfigMapVolumes"]),
        scheduling=scheduling(facts_of(release)["daemonSets"][_PROGRAM], release),
        annotations={key: str(value) for key, value in values["podAnnotations"].items()},
        host_pid=bool(values["hostPID"]),
    )
    namespace = values["namespaceOverride"] or release.namespace
    yield daemon_set(full_name(release, values), namespace, EXPORTER, release.name, pods)
