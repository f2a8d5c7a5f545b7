"""What rules read out of a program, each question by itself: yes, no, or not known."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import pytest
from pulumi_policy import StackValidationArgs
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE, UnknownValueError, unknown_checking_proxy

from eks_gpushare.facts.public_networks import reaches_everybody
from eks_gpushare.inventory.items import NodeSet
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown
from gpushare_policies import gpus
from gpushare_policies.checks import Unjudged
from gpushare_policies.reading.blanks import refuse_blanks
from gpushare_policies.reading.clusters import clusters_of, kubernetes_namespace
from gpushare_policies.reading.containers import gpu_amounts, pods_of, unknown_of
from gpushare_policies.reading.inventory import program_of
from gpushare_policies.reading.karpenter import gives_gpus
from gpushare_policies.reading.node_groups import start_of
from gpushare_policies.reading.nodes import nodes_of
from gpushare_policies.reading.objects import (
    Kind,
    KubernetesObject,
    kind_of,
    objects_of,
    pod_templates,
)
from gpushare_policies.reading.of_stack import of_stack
from gpushare_policies.reading.on_objects import ObjectChecks, Subject
from gpushare_policies.reading.plain import count, items, plain, text
from gpushare_policies.reading.pod_shapes import pods_in
from gpushare_policies.tokens import (
    AWS_CLUSTER,
    LAUNCH_TEMPLATE,
    MANAGED_NODE_GROUP,
    NODE_GROUP,
    SCALING_GROUP,
    SCALING_TAG,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pulumi_policy import PolicyResource

    Make = Callable[..., PolicyResource]

LATER = UNKNOWN_STRING_VALUE
OBJECT = "kubernetes:core/v1:ConfigMap"
NODE_GROUP_V2 = "eks:index:NodeGroupV2"


# --- plain values --------------------------------------------------------------------------------


def test_properties_become_plain() -> None:
    props = unknown_checking_proxy({"a": [1.0, 1.5, LATER], "b": {"c": LATER, "d": b"x"}})

    assert plain(props) == {"a": [1, 1.5, UNKNOWN], "b": {"c": UNKNOWN, "d": b"x"}}
    assert at(plain(props), "b", "c", "d") is UNKNOWN
    assert at(plain(props), "a", "b") is None
    assert items((1,)) == (1,)
    assert items("ab") == ()


@pytest.mark.parametrize(
    ("value", "counted", "written"),
    [
        (5, 5, "5"),
        ("5", 5, "5"),
        (5.7, 5, "5.7"),
        (True, None, "True"),
        (None, None, "-"),
        ("", None, "-"),
        ("x", None, "x"),
        (float("inf"), None, "inf"),
        (UNKNOWN, UNKNOWN, UNKNOWN),
    ],
)
def test_numbers_and_texts(value: Any, counted: Any, written: Any) -> None:
    assert count(value) == counted
    assert text(value, "-") == written


@pytest.mark.parametrize(
    ("value", "held"),
    [
        (UNKNOWN, True),
        ({"a": UNKNOWN}, True),
        ({"a": 1}, False),
        ([UNKNOWN, 1], True),
        ((1, UNKNOWN), True),
        ([1], False),
        ({}, False),
        ("x", False),
    ],
)
def test_what_is_not_known_is_seen_anywhere(value: Any, held: bool) -> None:
    assert has_unknown(value) is held


# --- GPU nodes -----------------------------------------------------------------------------------

OTHERS = {"acceleratorManufacturers": ["amd"]}


@pytest.mark.parametrize(
    ("name", "has"),
    [
        ("g5.xlarge", True),
        ("p99.xlarge", True),
        ("g99e-x.xlarge", True),
        ("gr7.xlarge", True),
        ("g4ad.xlarge", False),
        ("g5", False),
        ("m5.large", False),
        ("g0.large", False),
        (None, False),
    ],
)
def test_types_with_gpus(name: Any, has: bool) -> None:
    assert gpus.is_gpu_type(name) is has


@pytest.mark.parametrize(
    ("requirements", "wants"),
    [
        ({}, False),
        ({"allowedInstanceTypes": ["g5.xlarge"]}, True),
        ({"allowedInstanceTypes": ["g5.*"]}, True),
        ({"allowedInstanceTypes": ["m5.*", "p*"]}, True),
        ({"allowedInstanceTypes": ["g4ad.*"]}, False),
        ({"allowedInstanceTypes": ["m5.*"]}, False),
        ({"acceleratorNames": ["a100"]}, True),
        ({"acceleratorNames": ["radeon-pro-v520"]}, False),
        ({"acceleratorNames": ["radeon-pro-v520", "t4"]}, True),
        ({"acceleratorTypes": ["gpu"]}, True),
        ({"acceleratorTypes": ["gpu"], **OTHERS}, False),
        ({"acceleratorTypes": ["gpu"], "acceleratorManufacturers": ["amd", "nvidia"]}, True),
        ({"acceleratorTypes": ["fpga"]}, False),
        ({"acceleratorManufacturers": ["nvidia"]}, True),
        ({"acceleratorManufacturers": ["nvidia"], "acceleratorCount": {"max": 0.0}}, False),
        ({"acceleratorManufacturers": ["nvidia"], "acceleratorCount": {"max": 1.0}}, True),
        ({"acceleratorCount": {"min": 0.0}}, False),
        ({"acceleratorCount": {"min": 1.0}}, True),
        ({"acceleratorCount": {"max": 4.0}}, False),
        ({"acceleratorCount": {"min": 1.0}, "acceleratorTypes": ["fpga"]}, False),
        ({"acceleratorCount": {"min": 1.0}, "acceleratorNames": ["u30"]}, False),
        ({"acceleratorCount": {"min": 1.0}, **OTHERS}, False),
    ],
)
def test_attributes_that_ask_for_gpus(requirements: dict[str, Any], wants: bool) -> None:
    assert gpus.wants_gpu_attributes(requirements) is wants


@pytest.mark.parametrize(
    ("props", "is_gpu"),
    [
        ({"amiType": "AL2023_x86_64_NVIDIA"}, True),
        ({"amiType": "AL2_x86_64_GPU"}, True),
        ({"amiType": "AL2023_x86_64_STANDARD"}, False),
        ({"instanceTypes": ["m5.large", "g5.xlarge"]}, True),
        ({"instanceTypes": ["m5.large"]}, False),
        ({"gpu": True}, True),
        ({"gpu": False}, False),
        ({"amiType": LATER, "instanceTypes": ["g5.xlarge"]}, True),
        ({"amiType": LATER}, None),
        ({"instanceTypes": [LATER, "g5.xlarge"]}, None),
        ({}, False),
    ],
)
def test_node_groups_with_gpus(props: dict[str, Any], is_gpu: bool | None) -> None:
    given = unknown_checking_proxy(props)
    if is_gpu is None:
        with pytest.raises(UnknownValueError):
            gpus.is_gpu_node_group(given)
    else:
        assert gpus.is_gpu_node_group(given) is is_gpu


def test_a_component_counts_only_without_its_own_node_group(resource: Make) -> None:
    above, alone = (resource(MANAGED_NODE_GROUP, name, {"x": 1}) for name in ("a", "b"))
    own, single = (resource(NODE_GROUP, name, {"x": 1}) for name in ("a-own", "c"))
    own.parent = above
    every = [above, own, alone, single, resource(AWS_CLUSTER, "d", {"x": 1})]

    assert [each.name for each in gpus.node_groups(every)] == ["a-own", "b", "c"]
    assert [each.name for each in nodes_of(every, {})] == ["a-own", "b", "c"]


def _encoded(script: str) -> str:
    return base64.b64encode(script.encode()).decode()


TAINT = {"key": "a", "value": "b", "effect": "NO_SCHEDULE"}


@pytest.mark.parametrize(
    ("token", "props", "template", "part", "value"),
    [
        (NODE_GROUP, {"amiType": "X"}, {"imageId": "ami-1"}, "ami", "X"),
        (NODE_GROUP, {"amiType": "CUSTOM"}, {"imageId": "ami-1"}, "ami", "ami-1"),
        (NODE_GROUP, {}, {"imageId": "ami-1"}, "ami", "ami-1"),
        (NODE_GROUP, {}, {"imageId": LATER}, "ami", UNKNOWN),
        (NODE_GROUP, {"amiType": "CUSTOM"}, {"x": 1}, "ami", "CUSTOM"),
        (NODE_GROUP, {"launchTemplate": {"id": "lt-1"}}, None, "ami", UNKNOWN),
        (NODE_GROUP, {"amiType": "X", "launchTemplate": {"id": "lt-1"}}, None, "ami", "X"),
        (NODE_GROUP, {"amiType": LATER}, None, "ami", UNKNOWN),
        (NODE_GROUP, {"x": 1}, None, "ami", ""),
        (NODE_GROUP, {"x": 1}, None, "instance_types", ()),
        (NODE_GROUP, {"instanceTypes": ["a"]}, {"instanceType": "b"}, "instance_types", ("a",)),
        (NODE_GROUP, {"x": 1}, {"instanceType": "b"}, "instance_types", ("b",)),
        (NODE_GROUP, {"x": 1}, {"instanceType": LATER}, "instance_types", UNKNOWN),
        (NODE_GROUP, {"instanceTypes": ["a", LATER]}, None, "instance_types", UNKNOWN),
        (NODE_GROUP, {"instanceTypes": LATER}, None, "instance_types", UNKNOWN),
        (NODE_GROUP, {"x": 1}, None, "user_data", ""),
        (NODE_GROUP, {"x": 1}, {"userData": _encoded("#!/bin/sh")}, "user_data", "#!/bin/sh"),
        (NODE_GROUP, {"x": 1}, {"userData": "#!/bin/sh"}, "user_data", "#!/bin/sh"),
        (NODE_GROUP, {"x": 1}, {"userData": "#!/bin/zsh\n"}, "user_data", "#!/bin/zsh\n"),
        (NODE_GROUP, {"x": 1}, {"userData": LATER}, "user_data", UNKNOWN),
        (NODE_GROUP, {"launchTemplate": {"id": "lt-1"}}, None, "user_data", UNKNOWN),
        (NODE_GROUP, {"labels": LATER}, None, "labels", UNKNOWN),
        (NODE_GROUP, {"labels": {"a": "b"}}, None, "labels", {"a": "b"}),
        (NODE_GROUP, {"labels": ["a"]}, None, "labels", {}),
        (NODE_GROUP, {"taints": [TAINT]}, None, "taints", (("a", "b", "NoSchedule"),)),
        (NODE_GROUP, {"taints": [TAINT, LATER]}, None, "taints", UNKNOWN),
        (NODE_GROUP, {"taints": LATER}, None, "taints", UNKNOWN),
        (NODE_GROUP, {"taints": [TAINT, {**TAINT, "value": LATER}]}, None, "taints", UNKNOWN),
        (NODE_GROUP, {"tags": LATER}, None, "promised", UNKNOWN),
        (NODE_GROUP, {"tags": {"team": "ml"}}, None, "promised", {}),
        (
            NODE_GROUP,
            {"tags": {"k8s.io/cluster-autoscaler/node-template/resources/a": "4", "b": "c"}},
            None,
            "promised",
            {"a": "4"},
        ),
        (NODE_GROUP, {"scalingConfig": {"minSize": 1.0}}, None, "least", 1),
        (NODE_GROUP, {"scalingConfig": {"maxSize": 2.0}}, None, "most", 2),
        (NODE_GROUP_V2, {"x": 1}, None, "ami", "AL2023"),
        (NODE_GROUP_V2, {"gpu": True}, None, "ami", "AL2023_NVIDIA"),
        (NODE_GROUP_V2, {"gpu": "true"}, None, "ami", "AL2023"),
        (NODE_GROUP_V2, {"gpu": True, "operatingSystem": LATER}, None, "ami", ""),
        (NODE_GROUP_V2, {"operatingSystem": "Bottlerocket"}, None, "ami", "Bottlerocket"),
        (NODE_GROUP_V2, {"amiType": "X", "gpu": True}, None, "ami", "X"),
        (NODE_GROUP_V2, {"instanceType": LATER}, None, "instance_types", UNKNOWN),
        (NODE_GROUP_V2, {"instanceType": "a"}, None, "instance_types", ("a",)),
        (NODE_GROUP_V2, {"x": 1}, None, "instance_types", ()),
        (
            NODE_GROUP_V2,
            {"taints": {"a": {"value": "b", "effect": "NoSchedule"}}},
            None,
            "taints",
            (("a", "b", "NoSchedule"),),
        ),
        (NODE_GROUP_V2, {"taints": {"a": LATER}}, None, "taints", UNKNOWN),
        (NODE_GROUP_V2, {"taints": {"a": "x"}}, None, "taints", (("a", "", ""),)),
    ],
)
def test_node_groups_are_read(
    resource: Make, token: str, props: dict[str, Any], template: Any, part: str, value: Any
) -> None:
    uses = {}
    if template is not None:
        props = {**props, "launchTemplate": {"id": LATER}}
        strange = resource(AWS_CLUSTER, "x", {"imageId": "ami-9"})
        uses = {"launchTemplate": [strange, resource(LAUNCH_TEMPLATE, "lt", template)]}
    (found,) = nodes_of([resource(token, "gpu", props, uses=uses)], {})

    assert getattr(found, part) == value


def test_a_resource_without_properties_is_no_node_group(resource: Make) -> None:
    assert list(nodes_of([resource(NODE_GROUP, "gpu", {})], {})) == []


def test_tags_on_the_group_that_eks_makes_are_those_of_a_node_group(resource: Make) -> None:
    groups = [
        resource(NODE_GROUP, name, {"tags": {f"{PROMISE}a": "4", f"{PROMISE}b": "1"}})
        for name in ("gpu", "cpu")
    ]
    tag = {"key": f"{PROMISE}a", "value": "8", "propagateAtLaunch": False}
    uses = {"autoscalingGroupName": groups[:1]}
    of_one = resource(SCALING_TAG, "tag", {"tag": tag}, uses=uses)
    of_another = resource(SCALING_TAG, "other", {"autoscalingGroupName": "old", "tag": tag})

    found = [nodes.promised for nodes in nodes_of([*groups, of_one, of_another], {})]

    assert found == [{"a": "8", "b": "1"}, {"a": "4", "b": "1"}]


PROMISE = "k8s.io/cluster-autoscaler/node-template/resources/"


# --- Karpenter -----------------------------------------------------------------------------------


def _requirement(key: str, operator: Any, *values: Any) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


COUNT, FAMILY = "karpenter.k8s.aws/instance-gpu-count", "karpenter.k8s.aws/instance-family"
CATEGORY = "karpenter.k8s.aws/instance-category"
MAKER = "karpenter.k8s.aws/instance-gpu-manufacturer"
TYPE = "node.kubernetes.io/instance-type"


@pytest.mark.parametrize(
    ("requirement", "gives"),
    [
        (_requirement(COUNT, "Exists"), True),
        (_requirement(COUNT, "Gt", "0"), True),
        (_requirement(COUNT, "Gte", "1"), True),
        (_requirement(COUNT, "Lt", "1"), False),
        (_requirement(COUNT, "DoesNotExist"), False),
        (_requirement(COUNT, "In", "0"), False),
        (_requirement(COUNT, "In", "0", "1"), True),
        (_requirement(COUNT, "NotIn", "1"), False),
        (_requirement(MAKER, "In", "nvidia"), True),
        (_requirement(MAKER, "In", "amd"), False),
        (_requirement(MAKER, "NotIn", "nvidia"), False),
        (_requirement(TYPE, "In", "m5.large", "g5.xlarge"), True),
        (_requirement(TYPE, "In", "m5.large"), False),
        (_requirement(FAMILY, "In", "g5", "m5"), True),
        (_requirement(FAMILY, "In", "m5"), False),
        (_requirement(CATEGORY, "In", "g"), True),
        (_requirement(CATEGORY, "In", "g", "p"), True),
        (_requirement(CATEGORY, "In", "g", "gr", "p"), True),
        (_requirement(CATEGORY, "In", "g", "m"), False),
        (_requirement(CATEGORY, "In"), False),
        (_requirement("team", "In", "g"), False),
        (_requirement(TYPE, UNKNOWN, "g5.xlarge"), None),
        (_requirement(TYPE, "In", "m5.large", UNKNOWN), None),
        (UNKNOWN, None),
    ],
)
def test_requirements_ask_for_gpus(requirement: Any, gives: bool | None) -> None:
    other = _requirement("team", "Exists")
    pool = {"spec": {"template": {"spec": {"requirements": [other, requirement]}}}}

    assert gives_gpus(pool) is gives


@pytest.mark.parametrize(
    ("template", "gives"),
    [
        ({}, False),
        (UNKNOWN, None),
        ({"spec": {"requirements": UNKNOWN}}, None),
        ({"metadata": {"labels": {"nvidia.com/gpu": "x"}}}, True),
        ({"metadata": {"labels": {"team": "nvidia.com/"}}}, False),
        ({"metadata": {"labels": UNKNOWN}}, False),
        ({"spec": {"taints": [{"key": "nvidia.com/gpu"}], "requirements": UNKNOWN}}, True),
        ({"spec": {"startupTaints": [{"key": "nvidia.com/gpu"}]}}, True),
        ({"spec": {"taints": [{"key": "team"}]}}, False),
    ],
)
def test_pools_are_marked(template: Any, gives: bool | None) -> None:
    assert gives_gpus({"spec": {"template": template}}) is gives


# --- objects -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("token", "kind"),
    [
        ("kubernetes:core/v1:Pod", (Kind("", "Pod"), "v1", "")),
        ("kubernetes:apps/v1:DeploymentPatch", (Kind("apps", "Deployment"), "v1", "Patch")),
        ("kubernetes:apps/v1:DeploymentList", (Kind("apps", "Deployment"), "v1", "List")),
        ("kubernetes:core/v1:List", (Kind("", ""), "v1", "List")),
        ("kubernetes:x.io/v1:Patch", (Kind("x.io", "Patch"), "v1", "")),
        ("kubernetes:helm.sh/v3:Release", None),
        ("kubernetes:core/v1:Pod:x", None),
        ("kubernetes:core/v1", None),
        ("kubernetes:core/v1:", None),
        ("kubernetes:", None),
        ("aws:eks/cluster:Cluster", None),
    ],
)
def test_tokens_say_what_an_object_is(token: str, kind: Any) -> None:
    assert kind_of(token) == kind


def test_objects_stand_in_lists() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod"}
    listed = unknown_checking_proxy({"items": [pod, {"kind": LATER}, {}]})

    assert [each.kind.kind for each in objects_of("kubernetes:core/v1:List", listed)] == [
        *("Pod", "", "")
    ]
    (hidden,) = objects_of(
        "kubernetes:apps/v1:DeploymentList", unknown_checking_proxy({"items": LATER})
    )
    assert hidden.body["spec"] is UNKNOWN
    assert list(objects_of("kubernetes:apps/v1:DeploymentList", {"metadata": {}})) == []
    (patch,) = objects_of("kubernetes:apps/v1:DeploymentPatch", {})
    (whole,) = objects_of("kubernetes:apps/v1:Deployment", {})
    assert (patch.patch, whole.patch) == (True, False)


@pytest.mark.parametrize(
    ("token", "item", "kind", "version"),
    [
        ("core/v1:List", {"kind": "Pod", "apiVersion": "v1"}, Kind("", "Pod"), "v1"),
        ("core/v1:List", {"kind": "Pod"}, Kind("", "Pod"), "v1"),
        (
            "core/v1:List",
            {"kind": "Deployment", "apiVersion": "apps/v1beta1"},
            Kind("apps", "Deployment"),
            "v1beta1",
        ),
        ("apps/v1:DeploymentList", {"kind": "Deployment"}, Kind("apps", "Deployment"), "v1"),
        ("apps/v1:DeploymentList", {}, Kind("apps", "Deployment"), "v1"),
        (
            "apps/v1:DeploymentList",
            {"kind": "Deployment", "apiVersion": LATER},
            Kind("apps", "Deployment"),
            "v1",
        ),
        (
            "apps/v1:DeploymentList",
            {"apiVersion": "apps/v1beta2", "kind": LATER},
            Kind("apps", "Deployment"),
            "v1beta2",
        ),
    ],
)
def test_an_item_of_a_list_may_say_what_it_is(
    token: str, item: dict[str, Any], kind: Kind, version: str
) -> None:
    (found,) = objects_of(f"kubernetes:{token}", unknown_checking_proxy({"items": [item]}))

    assert (found.kind, found.version) == (kind, version)


SPEC = {"containers": [{"name": "a"}]}


def _deep(levels: int) -> dict[str, Any]:
    found: dict[str, Any] = {"template": {"spec": SPEC}}
    for _ in range(levels):
        found = {"x": found}
    return found


@pytest.mark.parametrize(
    ("group", "spec", "paths"),
    [
        ("x.io", {"template": {"spec": SPEC}}, [("template",)]),
        ("x.io", {"a": [{"podTemplate": {"spec": SPEC}}]}, [("a", 0, "podTemplate")]),
        ("x.io", {"other": {"spec": SPEC}}, [("other",)]),
        ("x.io", {"template": {"spec": {"containers": {}}}}, []),
        (
            "x.io",
            {"template": {"x": {"template": {"spec": SPEC}}}},
            [("template", "x", "template")],
        ),
        ("x.io", _deep(11), [(*["x"] * 11, "template")]),
        ("x.io", _deep(30), []),
        ("x.io", UNKNOWN, []),
        ("apps", {"template": {"spec": SPEC}}, []),
    ],
)
def test_templates_are_found_in_kinds_of_others(group: str, spec: Any, paths: Any) -> None:
    found = pod_templates(KubernetesObject(Kind(group, "Own"), "v1", {"spec": spec}))

    assert [each.path for each in found] == [("spec", *path) for path in paths]


@pytest.mark.parametrize(
    ("value", "paths"),
    [
        ({"driver": {"image": "app:1", "env": []}}, [("driver",)]),
        ({"driver": {"image": "app:1"}}, []),
        ({"driver": {"env": []}}, []),
        ({"driver": {"repository": "nvcr.io/nvidia", "image": "driver", "env": []}}, []),
        ({"driver": {"securityContext": {"privileged": True}}}, [("driver",)]),
        ({"driver": {"securityContext": {"runAsUser": 0}}}, []),
        ({"containers": [{"port": 1}]}, []),
        ({"containers": [{"image": "app:1"}]}, [()]),
        (
            {"spec": {"hostNetwork": True, "steps": [{"container": {"image": "app:1"}}]}},
            [(), ("spec", "steps", 0)],
        ),
        ({"spec": {"script": {"image": "a"}, "sidecars": [{"image": "a", "env": []}]}}, [()]),
    ],
)
def test_pods_are_known_by_their_shape(value: Any, paths: Any) -> None:
    assert [each.path for each in pods_in(value)] == paths


@pytest.mark.parametrize(
    ("listed", "unknown"),
    [
        (UNKNOWN, ("containers",)),
        ([{"name": "a"}, UNKNOWN], ("containers",)),
        ([{"name": "a"}], ()),
        (None, ()),
    ],
)
def test_containers_that_are_not_known_are_named(listed: Any, unknown: tuple[str, ...]) -> None:
    (pod,) = pods_of(KubernetesObject(Kind("", "Pod"), "v1", {"spec": {"containers": listed}}))

    assert pod.unknown == unknown


def _container_of(resources: Any, name: Any = "a") -> Any:
    spec = {"containers": [{"name": name, "resources": resources}]}
    (pod,) = pods_of(KubernetesObject(Kind("", "Pod"), "v1", {"spec": spec}))
    return pod.containers[0]


@pytest.mark.parametrize(
    ("resources", "amounts"),
    [
        (None, {}),
        ({"limits": {"cpu": 1, "nvidia.com/gpu": 2, "amd.com/gpu": 1}}, {"nvidia.com/gpu": 2}),
        ({"requests": {"nvidia.com/mig-1g.5gb": "1"}}, {"nvidia.com/mig-1g.5gb": "1"}),
        (
            {"requests": {"nvidia.com/gpu": 1}, "limits": {"nvidia.com/gpu.shared": 1}},
            {"nvidia.com/gpu": 1, "nvidia.com/gpu.shared": 1},
        ),
        ({"limits": "nvidia.com/gpu"}, {}),
        ({"limits": UNKNOWN, "requests": {"nvidia.com/gpu": 1}}, UNKNOWN),
        ({"requests": UNKNOWN}, UNKNOWN),
        (UNKNOWN, UNKNOWN),
    ],
)
def test_what_containers_ask_for(resources: Any, amounts: Any) -> None:
    assert gpu_amounts(_container_of(resources)) == amounts


@pytest.mark.parametrize(("name", "called"), [("a", "a"), (None, "0"), ("", "0"), (UNKNOWN, "0")])
def test_containers_are_called_by_name_or_place(name: Any, called: str) -> None:
    assert _container_of({}, name).name == called


def test_a_pod_that_is_not_known_is_said() -> None:
    specs: tuple[Any, ...] = (UNKNOWN, {"containers": []})
    hidden, shown = (
        list(unknown_of(pod))
        for spec in specs
        for pod in pods_of(KubernetesObject(Kind("", "Pod"), "v1", {"spec": spec}))
    )

    assert hidden[0] == Unjudged("the pods' spec")
    assert shown == []


@pytest.mark.parametrize(
    ("path", "name", "title"),
    [
        ((), "app", "the Deployment app"),
        ((), None, "the Deployment gpu"),
        ((), "", "the Deployment gpu"),
        (("items", 0), "app", "the Deployment app of gpu"),
        (("items", 0), "gpu", "the Deployment gpu"),
    ],
)
def test_objects_have_titles(path: Any, name: Any, title: str) -> None:
    body = {"metadata": {"name": name}}
    args: Any = type("Args", (), {"name": "gpu"})()
    subject = Subject(KubernetesObject(Kind("apps", "Deployment"), "v1", body, path), args)

    assert subject.title == title
    assert subject.opening == f"T{title[1:]}"


def test_checks_of_objects_are_listed_by_token() -> None:
    of_pods, of_others, of_both = (
        ObjectChecks({Kind("", "Pod"): lambda _: iter(())}),
        ObjectChecks({Kind("apps", "X"): lambda _: iter(())}, version="v2"),
        ObjectChecks({Kind("", "Pod"): lambda _: iter(())}, {"a": lambda _: iter(())}),
    )

    assert [list(each) for each in (of_pods, of_others, of_both)] == [
        ["kubernetes:core/v1:Pod"],
        ["kubernetes:apps/v2:X"],
        ["a", "kubernetes:core/v1:Pod"],
    ]
    assert "kubernetes:core/v1:List" in of_pods
    assert "kubernetes:core/v1:Secret" not in of_pods
    assert "a" in of_both
    assert "a" not in of_pods


def test_a_check_of_what_others_bring_is_for_no_kind_of_kubernetes() -> None:
    theirs = ObjectChecks({}, theirs=lambda _: iter(()))

    assert "kubernetes:example.com/v1:Any" in theirs
    for group in ("core", "apps", "rbac.authorization.k8s.io"):
        assert f"kubernetes:{group}/v1:Any" not in theirs


def test_a_body_is_read_once_for_rules_that_ask_one_after_the_other() -> None:
    given = [{"data": {"a": str(number)}} for number in range(3)]

    bodies = [next(objects_of(OBJECT, props)).body for props in (*given, given[2], given[0])]

    assert bodies == [*given, given[2], given[0]]
    assert bodies[3] is bodies[2]


def test_what_is_worked_out_of_a_stack_is_kept_until_another_is_judged(resource: Make) -> None:
    asked: list[str] = []

    @of_stack
    def names(resources: Sequence[PolicyResource]) -> list[str]:
        asked.append("")
        return [each.name for each in resources]

    one, other = (
        [resource(OBJECT, name, {"metadata": {"name": name}}) for name in both]
        for both in ("ab", "cd")
    )
    alike = [resource(OBJECT, name, {"metadata": {"name": name}}) for name in "ab"]

    assert [names(each) for each in (one, tuple(one), [*one])] == [["a", "b"]] * 3
    assert len(asked) == 1
    assert (names(other), names(one[:1]), names(one), names(alike)) == (
        ["c", "d"],
        ["a"],
        ["a", "b"],
        ["a", "b"],
    )
    assert len(asked) == 5


NODE_CLASS = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
NODE_POOL = "kubernetes:karpenter.sh/v1:NodePool"


def _karpenter_nodes(resource: Make, name: Any, spec: dict[str, Any]) -> Any:
    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "gpu"}
    requirement = _requirement(TYPE, "In", "g5.xlarge")
    template = {"spec": {"requirements": [requirement], "nodeClassRef": reference}}
    pool = {"metadata": {"name": "pool"}, "spec": {"template": template}}
    node_class = {"metadata": {"name": name}, "spec": spec}
    made = [
        resource(OBJECT, "other", {"metadata": {"name": "gpu"}, "data": {}}),
        resource(NODE_POOL, "pool", pool),
        resource(NODE_CLASS, "class", node_class),
    ]
    (found,) = program_of(made).inventory.of(NodeSet)
    return found


@pytest.mark.parametrize(
    ("spec", "ami"),
    [
        ({"amiSelectorTerms": [{"alias": "al2023@v20260930"}]}, "al2023@v20260930"),
        ({"amiSelectorTerms": [{"alias": "al2023@latest"}], "amiFamily": "AL2"}, "al2023@latest"),
        ({"amiSelectorTerms": [{"id": "ami-1"}]}, "ami-1"),
        ({"amiSelectorTerms": [{"id": "ami-1"}], "amiFamily": "Bottlerocket"}, "Bottlerocket"),
        ({"amiSelectorTerms": [{"tags": {"a": "b"}}], "amiFamily": "AL2023"}, "AL2023"),
        ({"amiSelectorTerms": [{"tags": {"a": "b"}}, {"id": "ami-2"}]}, "ami-2"),
        ({"amiSelectorTerms": [{"tags": {"a": "b"}}]}, ""),
        ({"amiSelectorTerms": LATER}, UNKNOWN),
        ({"amiSelectorTerms": [LATER]}, UNKNOWN),
        ({"amiSelectorTerms": [{"alias": LATER}]}, UNKNOWN),
        ({"amiFamily": "AL2023"}, "AL2023"),
    ],
)
def test_nodes_of_karpenter_run_the_image_of_their_class(
    resource: Make, spec: dict[str, Any], ami: Any
) -> None:
    found = _karpenter_nodes(resource, "gpu", {**spec, "userData": "#!/bin/sh"})

    assert (found.ami, found.user_data) == (ami, "#!/bin/sh")


@pytest.mark.parametrize("name", ["other", LATER])
def test_nodes_of_a_class_that_is_not_here_keep_their_image(resource: Make, name: Any) -> None:
    spec = {"amiSelectorTerms": [{"alias": "al2023@v1"}], "userData": "x"}
    found = _karpenter_nodes(resource, name, spec)

    assert found.ami is UNKNOWN


_WRONG = "version: v1\nsharing:\n  timeSlicing:\n    resources: [{name: a/b, replicas: 1}]\n"
_RIGHT = _WRONG.replace("a/b", "nvidia.com/gpu").replace("replicas: 1", "replicas: 4")
_NODE_POOL = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: sharing}\nspec: {}\n"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (_WRONG, 1),
        (_RIGHT, 0),
        (f"# migStrategy, mig-configs, sharing\n{_WRONG}", 1),
        (f"{_RIGHT}---\n{_WRONG}", 0),
        (_NODE_POOL, 0),
        (5.0, 0),
    ],
)
def test_texts_are_read_as_configurations_alone(resource: Make, text: Any, wrong: int) -> None:
    metadata = {"name": "m", "namespace": "gpu"}
    made = [resource(OBJECT, "m", {"metadata": metadata, "data": {"gpu": text}})]
    found = program_of(made)

    assert bool(found.judgements()) is bool(wrong), found.judgements()
    assert list(found.inventory.of(NodeSet)) == []


def test_a_launch_template_is_found_by_its_name_or_id(resource: Make) -> None:
    nameless, first, second = (
        resource(LAUNCH_TEMPLATE, str(number), props)
        for number, props in enumerate(({"x": 1}, {"id": "lt-1"}, {"name": "b", "id": "lt-2"}))
    )
    for given, expected in (
        ({"id": "lt-1"}, first),
        ({"name": "b"}, second),
        ({"id": "lt-2"}, second),
        ({"name": "c"}, None),
        ({"version": "1"}, None),
    ):
        group = resource(NODE_GROUP, "gpu", {"launchTemplate": given})
        assert start_of(group, [nameless, first, group, second]) is expected


# --- networks and clusters -----------------------------------------------------------------------


def test_what_nobody_has_for_himself_is_everybody() -> None:
    assert reaches_everybody(["2000::/8"])  # of 2000::/3 exactly the share that is too much
    assert not reaches_everybody(["2000::/9"])


@pytest.mark.parametrize(
    ("token", "props", "refused"),
    [
        (OBJECT, {}, True),
        (OBJECT, {"data": {}}, False),
        ("kubernetes:helm.sh/v4:Chart", {}, False),
        ("kubernetes:helm.sh/v3:Release", {}, True),
        (NODE_GROUP, {}, False),
    ],
)
def test_objects_without_properties_are_yet_to_be_shown(
    resource: Make, token: str, props: dict[str, Any], refused: bool
) -> None:
    args = StackValidationArgs([resource(token, "x", props)], None)
    said: list[Any] = []
    args.not_applicable = said.append  # type: ignore[method-assign,assignment]
    refuse_blanks(args)

    assert bool(said) is refused


def _server(name: str) -> str:
    return f'{{"clusters": [{{"cluster": {{"server": "https://x"}}, "name": {name}}}]}}'


@pytest.mark.parametrize(
    ("context", "same"),
    [
        ("ml", True),
        ("arn:ml", True),
        ("arn:aws:eks:us-west-2:111122223333:cluster/ml", True),
        ("jane@ml", True),
        ("clusters/ml", True),
        (_server('"ml"'), True),
        ("name: ml\n", True),
        ("x ml, y", True),
        ("mlx", False),
        ("xml", False),
        ("arn:aws:eks:us-west-2:111122223333:cluster/mlx", False),
        (_server('"mlx"'), False),
        ("name: ml", False),
    ],
)
def test_a_provider_names_its_cluster(resource: Make, context: str, same: bool) -> None:
    first, second = (resource(NODE_GROUP, name, {"clusterName": name}) for name in ("ml", "web"))
    here, there = (
        resource(OBJECT, str(index), {"data": {}}, provider={"context": each})
        for index, each in enumerate((context, "elsewhere"))
    )
    found = clusters_of([first, second, here, there])

    assert (found[here.urn] == found[first.urn]) is same
    assert found[first.urn] != found[second.urn]
    assert found[here.urn] != found[there.urn]


def _chain(resource: Make, length: int) -> list[PolicyResource]:
    """A cluster, and what depends on it by way of others, the last an object's provider's."""
    found = [resource(AWS_CLUSTER, "ml", {"name": "ml"})]
    for index in range(length):
        found.append(resource("x:y:Z", str(index), {"a": 1}, uses={"a": [found[-1]]}))
    return found


@pytest.mark.parametrize(("length", "reached"), [(0, True), (5, True), (6, False)])
def test_nodes_depend_on_their_cluster_from_afar(
    resource: Make, length: int, reached: bool
) -> None:
    between = _chain(resource, length)
    other = resource(AWS_CLUSTER, "web", {"name": "web"})
    nodes = resource(NODE_GROUP, "gpu", {"a": 1}, uses={"a": [between[-1]]})
    found = clusters_of([*between, other, nodes])

    assert (found[nodes.urn] == between[0].urn) is reached


def test_several_clusters_as_near_are_none(resource: Make) -> None:
    first, second = (resource(AWS_CLUSTER, name, {"name": name}) for name in ("a", "b"))
    both = resource(NODE_GROUP, "gpu", {"a": 1}, uses={"a": [first, second]})
    by_property = resource(NODE_GROUP, "own", {"a": 1}, uses={"cluster": [both, second]})

    assert clusters_of([first, second, both]) == {both.urn: ""}
    assert clusters_of([first, second, by_property]) == {by_property.urn: second.urn}


def test_a_tag_whose_key_is_not_known_is_of_the_cluster_that_it_is_made_of(resource: Make) -> None:
    first, second = (resource(AWS_CLUSTER, name, {"name": name}) for name in ("a", "b"))
    tags = [{"key": LATER, "value": "owned"}]
    by_name = resource(SCALING_GROUP, "gpu", {"tags": tags}, uses={"tags": [second]})
    by_nothing = resource(SCALING_GROUP, "gpu", {"tags": tags})

    assert clusters_of([first, second, by_name]) == {by_name.urn: second.urn}
    assert clusters_of([first, by_nothing]) == {by_nothing.urn: first.urn}
    assert [nodes.cluster for nodes in nodes_of([by_name], {by_name.urn: "b"})] == ["b"]


def test_a_program_with_one_cluster_means_it(resource: Make) -> None:
    cluster = resource(AWS_CLUSTER, "ml", {"name": "ml", "arn": LATER})
    nodes = resource(NODE_GROUP, "gpu", {"a": 1})
    plain_object = resource(OBJECT, "x", {"data": {}})
    by_config = resource(OBJECT, "y", {"data": {}}, provider={"kubeconfig": LATER})

    assert set(clusters_of([cluster, nodes, plain_object, by_config]).values()) == {cluster.urn}
    assert clusters_of([plain_object]) == {plain_object.urn: ""}


@pytest.mark.parametrize(
    ("names", "contexts", "telling", "together"),
    [
        # One on either side is the same; of several, nobody knows.
        ("a", "x", "", [("a", "x")]),
        ("ab", "x", "", [("a", "x"), ("b", "x")]),
        ("a", "xy", "", []),
        ("a", "xy", "x", [("a", "x")]),
        ("ab", "xy", "x", []),
        ("ab", "ax", "", [("a", "a"), ("b", "x")]),
        ("abc", "ax", "", [("a", "a")]),
    ],
)
def test_clusters_are_matched(
    resource: Make, names: str, contexts: str, telling: str, together: list[tuple[str, str]]
) -> None:
    groups = {each: resource(NODE_GROUP, each, {"clusterName": each}) for each in names}
    objects = {
        each: resource(OBJECT, f"o{each}", {"data": {}}, provider={"context": each})
        for each in contexts
    }
    every = [*groups.values(), *objects.values()]
    found = clusters_of(every, [objects[each].urn for each in telling])

    same = [
        (name, context)
        for name in names
        for context in contexts
        if found[groups[name].urn] == found[objects[context].urn]
    ]
    assert same == together


@pytest.mark.parametrize(
    ("provider", "namespace"),
    [
        (None, "default"),
        ({"context": "x"}, "default"),
        ({"namespace": "gpu"}, "gpu"),
        ({"namespace": ""}, "default"),
        ({"namespace": LATER}, UNKNOWN),
    ],
)
def test_a_provider_has_a_namespace(
    resource: Make, provider: dict[str, Any] | None, namespace: Any
) -> None:
    assert kubernetes_namespace(resource(OBJECT, "x", {}, provider=provider)) == namespace
