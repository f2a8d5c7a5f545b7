"""Clusters of the lint corpus with the GPU Operator, as they are once they run: nothing is found.

Helm has none of the operator's DaemonSets: the operator makes them. Here the lab does, as it was
rendered from the operator's own templates (`tools/catalog/daemonsets.py`).
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.live.test_charts import pods_of
from tests.live.test_corpus_clusters import (
    MADE,
    CorpusCluster,
    corpus_clusters,
    namespace_of,
    own_objects,
)
from tests.live.test_faults import Cluster, worse
from tests.live.test_faults import objects_of as as_read

from eks_gpushare.catalog import versions
from eks_gpushare.live.verdict import verdict_of
from eks_gpushare_lab.install.charts import render
from eks_gpushare_lab.install.release import DeclaredRelease

OPERATOR = versions.GPU_OPERATOR.name
DEPLOYED = "nvidia.com/gpu.deploy."
CLUSTERS = {
    each.case.name: each
    for each in corpus_clusters(lambda chart: chart.rpartition("/")[2] == OPERATOR)
}


def made_of(given: CorpusCluster) -> Cluster:
    nodes, own = own_objects(given)
    for release in given.releases:
        values: Any = release.values
        space, version = namespace_of(release, own), versions.GPU_OPERATOR.version
        made = render(DeclaredRelease("gpu-operator", space, OPERATOR, version, values))
        for number, each in enumerate(made):
            each["metadata"] |= {"creationTimestamp": MADE, "uid": f"operator-{number}"}
            own.append({**each, "status": {}})
    for each in own:
        if each["kind"] == "DaemonSet":  # it labels nodes for what is to run there
            wanted = each["spec"]["template"]["spec"].get("nodeSelector") or {}
            mine = {key: value for key, value in wanted.items() if key.startswith(DEPLOYED)}
            for node in nodes:
                node["metadata"]["labels"] = {**mine, **node["metadata"]["labels"]}
    return [*nodes, *own, *pods_of(own, nodes)]


@pytest.mark.parametrize("name", CLUSTERS)
def test_a_cluster_that_is_right_is_no_finding(name: str) -> None:
    assert worse(verdict_of(as_read(made_of(CLUSTERS[name])))) == []


def test_there_are_some() -> None:
    assert len(CLUSTERS) >= 10


def test_a_layout_that_mig_managers_map_has_not_is_one() -> None:
    """What is seen above is no silence: the same with a label for another layout."""
    cluster = made_of(CLUSTERS["right-layout-in-a-map"])
    for each in cluster:
        if each["kind"] == "Node":
            each["metadata"]["labels"]["nvidia.com/mig.config"] = "nowhere"

    codes = [code for code, _ in worse(verdict_of(as_read(cluster)))]
    assert "GPU1131" in codes
