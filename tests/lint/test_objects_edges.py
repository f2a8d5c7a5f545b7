"""What is said of objects as they are written, and what charts in them are read as."""

from __future__ import annotations

from typing import Any

import pytest
from foreign_reading import items, problems, read_with

from eks_gpushare.inventory.items import ConfigMap, Release
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.manifests.readers.helm_objects import HelmObjectReader
from eks_gpushare.manifests.readers.kubernetes import KubernetesReader
from eks_gpushare.manifests.rules.user_data import config_problems

KUBERNETES, HELM = KubernetesReader(), HelmObjectReader()


def told(value: dict[str, Any]) -> Any:
    (problem,) = problems(read_with(KUBERNETES, value))
    return problem


@pytest.mark.parametrize(
    ("given", "kind", "spec", "certain"),
    [
        ("batch/v1beta1", "CronJob", {}, True),
        ("policy/v1beta1", "PodDisruptionBudget", {}, True),
        ("apps/v1beta2", "Deployment", {"selector": {}}, True),
        ("apps/v1beta2", "Deployment", {}, False),
        ("autoscaling/v2beta2", "HorizontalPodAutoscaler", {"selector": {}}, False),
        ("resource.k8s.io/v1alpha2", "ResourceClass", {"selector": {}}, False),
    ],
)
def test_an_old_version_is_corrected_where_nothing_else_changes(
    given: str, kind: str, spec: dict[str, Any], certain: bool
) -> None:
    problem = told({"apiVersion": given, "kind": kind, "spec": spec})

    assert bool(problem.edits) is certain
    assert problem.fix.startswith("Write it anew") is given.startswith("resource.")


@pytest.mark.parametrize("other", [False, True])
def test_a_quota_is_corrected_unless_both_are_there(other: bool) -> None:
    hard = {"limits.nvidia.com/gpu": 1} | ({"requests.nvidia.com/gpu": 2} if other else {})
    problem = told({"apiVersion": "v1", "kind": "ResourceQuota", "spec": {"hard": hard}})

    assert bool(problem.edits) is not other


def test_words_of_what_stands_elsewhere() -> None:
    value = {
        "apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "a"},
        "spec": {"jobTemplate": {"tolerations": []}},
    }  # fmt: skip
    problem = told(value)
    assert problem.fix == "Move it to spec.jobTemplate.spec.template.spec."
    limits = {"limits": [{"default": {"nvidia.com/gpu": 1}}]}
    problem = told({"apiVersion": "v1", "kind": "LimitRange", "spec": limits})
    assert problem.message.startswith("The LimitRange gives nvidia.com/gpu to every container")


def test_a_bound_becomes_a_default_where_there_is_none() -> None:
    """As `tests/lab/test_limit_range_defaults.py` has it of the real API server."""
    gpu = {"nvidia.com/gpu": 1}

    def found(**limit: Any) -> list[Any]:
        spec = {"limits": [limit]}
        return problems(
            read_with(KUBERNETES, {"apiVersion": "v1", "kind": "LimitRange", "spec": spec})
        )

    (bound,) = found(max=gpu)
    assert bound.message.endswith("no default for it, and what is under max becomes that.")
    assert bound.fix == 'Write default: {nvidia.com/gpu: "0"} beside it, or remove it.'
    (default,) = found(default=gpu)
    assert default.fix == "Remove it; containers that need a GPU ask for it."
    assert found(type="Pod", max=gpu) == found(default={"nvidia.com/gpu": "0"}, max=gpu) == []


def only(value: Any) -> Any:
    (found,) = items(read_with(HELM, value))
    return found


def releases(kind: str, group: str, spec: Any, **more: Any) -> list[Any]:
    value = {
        "apiVersion": f"{group}/v1", "kind": kind, "metadata": {"name": "a", "namespace": "own"},
        "spec": spec, **more,
    }  # fmt: skip
    return items(read_with(HELM, value))


FLUX, K3S, ARGO = "helm.toolkit.fluxcd.io", "helm.cattle.io", "argoproj.io"


@pytest.mark.parametrize(("target", "namespace"), [(None, "own"), ("", "own"), ("gpu", "gpu")])
def test_where_a_release_goes(target: Any, namespace: str) -> None:
    more = {} if target is None else {"targetNamespace": target}
    flux = {"chart": {"spec": {"chart": "gpu-operator"}}, **more}
    (release,) = releases("HelmRelease", FLUX, flux)
    assert release.namespace == namespace
    chart = "apiVersion: helm.cattle.io/v1\nkind: HelmChart\nmetadata: {namespace: own}\nspec:\n"
    chart += "  chart: gpu-operator\n  valuesContent: |\n    a: 1\n    ---\n    b: 2\n"
    chart += "" if target is None else f"  targetNamespace: {target!r}\n"
    release = only(chart)
    assert release.namespace == namespace
    assert release.values == {"a": 1}


@pytest.mark.parametrize(
    ("values", "elsewhere", "known"),
    [({"a": 1}, True, True), ({}, True, False), ({}, False, True), ({"a": 1}, False, True)],
)
def test_values_that_stand_elsewhere(values: Any, elsewhere: bool, known: bool) -> None:
    chart: dict[str, Any] = {"name": "gpu-operator", "valuesInline": values}
    chart |= {"valuesFile": "x.yaml"} if elsewhere else {}
    value = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
             "helmCharts": [chart]}  # fmt: skip
    release = only(value)
    assert (release.values is not UNKNOWN) is known
    flux = {"chart": {"spec": {"chart": "gpu-operator"}}, "values": values}
    flux |= {"valuesFrom": [{"kind": "ConfigMap"}]} if elsewhere else {}
    (release,) = releases("HelmRelease", FLUX, flux)
    assert (release.values is not UNKNOWN) is known


@pytest.mark.parametrize(
    ("parameter", "values"),
    [
        ({"name": "a.b.c", "value": "x"}, {"a": {"b": {"c": "x"}}}),
        ({"name": "a", "value": True}, {"a": True}),
        ({"name": "a", "value": False}, {"a": False}),
        ({"name": "a", "value": 5}, {"a": 5}),
        ({"name": "a", "value": UNKNOWN}, {"a": UNKNOWN}),
        ({"name": "a", "value": "true", "forceString": True}, {"a": "true"}),
        ({"name": "a", "value": "true", "forceString": False}, {"a": True}),
        ({"name": "a", "value": None}, {}),
        ({"name": UNKNOWN, "value": "x"}, {}),
    ],
)
def test_parameters_of_argo_cd(parameter: dict[str, Any], values: dict[str, Any]) -> None:
    source = {"chart": "gpu-operator", "helm": {"valuesObject": {}, "parameters": [parameter]}}
    found = releases("Application", ARGO, {"source": source})
    (release,) = (each for each in found if isinstance(each, Release))

    assert release.values == values
    if parameter["name"] == "a.b.c":
        assert {("a",), ("a", "b"), ("a", "b", "c")} < set(release.paths)


def test_config_maps_that_kustomize_makes() -> None:
    given = {"name": "a", "literals": ["b='c'", 'd="e\nf"', 5], "files": ["x/y.yaml", "k=z.yaml"]}
    value = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
             "configMapGenerator": [given]}  # fmt: skip
    (found,) = items(read_with(HELM, value))

    assert isinstance(found, ConfigMap)
    assert found.data == {"b": "c", "d": '"e\nf"', "y.yaml": UNKNOWN, "k": UNKNOWN}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"kinds": 1}, ("a NodeConfig has no field kinds, so nodeadm passes it over.",
                        "Did you mean kind?")),
        ({"spec": {"zzz": 1}}, ("spec has no field zzz, so nodeadm passes it over.",
                                "Its fields are cluster, containerd, instance, ")),
        ({"spec": {"kubelet": {"flags": {"a": "b"}}}},
         ("spec.kubelet.flags is a list of flags, each as on a command line.", "Write - --")),
        ({"spec": {"kubelet": {"flags": "a"}}},
         ("spec.kubelet.flags is a list of flags, each as on a command line.", "Write - --")),
        ({"spec": {"kubelet": {"config": {"registerWithTaints": [{"effect": "NO_SCHEDULE"}]}}}},
         ("NO_SCHEDULE is no effect of a taint.", "Write NoSchedule.")),
        ({"spec": {"kubelet": {"config": {"registerWithTaints": [{"effect": "Never"}]}}}},
         ("Never is no effect of a taint.", "Write one of NoSchedule, ")),
    ],
)  # fmt: skip
def test_what_nodeadm_does_not_take(value: Any, said: tuple[str, str]) -> None:
    (problem,) = config_problems(value, Source("the NodeConfig"))

    assert problem.message == said[0]  # type: ignore[union-attr]
    assert problem.fix.startswith(said[1])  # type: ignore[union-attr]


@pytest.mark.parametrize("effect", ["NoSchedule", UNKNOWN, None, 5])
def test_effects_that_nodeadm_takes_or_that_are_not_known(effect: Any) -> None:
    taints = [{"key": "a", "effect": effect}]
    value = {"kind": "NodeConfig", "spec": {"kubelet": {"config": {"registerWithTaints": taints}}}}

    assert list(config_problems(value, Source("the NodeConfig"))) == []
