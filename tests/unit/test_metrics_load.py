"""What collects metrics takes room on nodes, and where CloudWatch's exporter is not."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from finding_examples import findings

from eks_gpushare.catalog import Catalog, gpu_instance_types
from eks_gpushare.sharing.cloudwatch import is_measured
from eks_gpushare.sharing.sizing import Need, size
from eks_gpushare.validation.parse import parse

EBS = {"cluster": {"addons": {"ebsCsi": True}}}
LISTED = frozenset(
    (
        *(f"g4dn.{each}xlarge" for each in ("", 2, 4, 8, 12, 16)),
        "g4dn.metal",
        *(f"g5.{each}xlarge" for each in ("", 2, 4, 8, 12, 16, 24, 48)),
        *(f"g5g.{each}xlarge" for each in ("", 2, 4, 8, 16)),
        "g5g.metal",
        *(f"g6.{each}xlarge" for each in ("", 2, 4, 8, 12, 16, 24, 48)),
        *(f"g6e.{each}xlarge" for each in ("", 2, 4, 8, 12, 16, 24, 48)),
        *("gr6.4xlarge", "gr6.8xlarge", "p3.2xlarge", "p3.8xlarge", "p3.16xlarge"),
        *("p3dn.24xlarge", "p4d.24xlarge", "p4de.24xlarge", "p5.48xlarge", "p5e.48xlarge"),
        *("p5en.48xlarge", "p6-b200.48xlarge", "p6-b300.48xlarge", "p6e-gb200.36xlarge"),
    )
)


def lacking(observability: dict[str, Any] | None, **more: Any) -> list[str]:
    """What is said of one system node of a type that has just room enough without metrics."""
    nodes = {"min": 1, "desired": 1, "max": 2}
    system = {"instanceTypes": ["m6i.large"], "nodes": nodes, "kubelet": {"maxPods": 8}}
    block = {} if observability is None else {"observability": observability}
    return [message for _, message in findings({"system": system, **block, **more}, "GPU623")]


def test_what_collects_takes_places_on_system_nodes() -> None:
    assert lacking(None) == []
    assert lacking({"metrics": "managedPrometheus"}) == []
    (made,) = lacking({"metrics": "managedPrometheus", "prometheus": {"install": True}})
    (kept,) = lacking({"prometheus": {"install": True, "storageClass": "gp3"}})
    (cloudwatch,) = lacking({"metrics": "cloudwatch"})

    assert made.startswith("1 node of m6i.large have 4 places for pods of 5 left")
    assert "kube-state-metrics take" in made
    assert kept.startswith("1 node of m6i.large have 4 places for pods of 9 left")
    assert "Prometheus take" in kept
    assert "places for pods of 7" in cloudwatch
    assert cloudwatch.endswith("CloudWatch's agent and node exporter on each.")


def test_of_a_cluster_that_is_there_nothing_is_known() -> None:
    theirs = {
        "cluster": {"name": None, "version": None, "admins": None, "existing": {"name": "theirs"}},
        "network": None,
    }

    assert not [each for each in lacking({"metrics": "cloudwatch"}, **theirs) if "CloudW" in each]


@pytest.mark.parametrize(
    ("given", "cpu", "memory"),
    [
        ({}, 0, 0),
        ({"observability": {"metrics": "cloudwatch"}}, 550, 286),
        ({"observability": {"metrics": "managedPrometheus"}}, 100, 128),
        ({"gpuStack": {"dcgmExporter": True}}, 100, 128),
        (
            {
                "observability": {"metrics": "managedPrometheus"},
                "gpuStack": {"manager": "gpuOperator"},
            },
            *(0, 0),
        ),
    ],
)
def test_what_measures_takes_of_a_gpu_node(given: dict[str, Any], cpu: int, memory: int) -> None:
    """Against a node of the same type where nothing measures."""

    def left(more: dict[str, Any]) -> dict[str, int]:
        pool = {"instanceTypes": ["g6.12xlarge"], "sharing": {"mode": "exclusive"}}
        environment = parse(
            {"cluster": {"name": "demo", "version": "1.35"}, "pools": {"gpu": pool}, **more}
        ).environment
        found = Catalog().find("g6.12xlarge")
        assert environment is not None
        assert found is not None
        need = Need(cpu_millis=Fraction(1), memory_mib=Fraction(1))
        sized = size(need, environment.pools["gpu"], found, environment, Catalog())
        return {each.name: each.pods for each in sized.bounds}

    before, after = left({}), left(given)

    assert before["cpu"] - after["cpu"] == cpu
    assert before["memory"] - after["memory"] == memory


def test_the_exporter_of_the_addon_is_where_its_chart_lists_a_type() -> None:
    """`LISTED` are those of its chart's DcgmExporter that this catalog knows too."""
    known = set(gpu_instance_types())

    assert known & LISTED
    assert {name for name in known if is_measured(name)} == known & LISTED


def test_only_where_the_addon_measures_a_type_is_asked_for() -> None:
    pools = {"gpu": {"instanceTypes": ["g7e.2xlarge", "g6e.2xlarge"]}}

    def found(block: dict[str, Any]) -> list[tuple[str, str]]:
        return findings({"observability": block, "pools": pools}, "GPU992")

    assert found({"metrics": "cloudwatch"}) == [
        ("pools.gpu.instanceTypes[0]", "The add-on's exporter does not run on g7e.2xlarge.")
    ]
    assert found({"metrics": "managedPrometheus"}) == []
