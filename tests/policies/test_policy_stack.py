from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pulumi_policy.policy import _NotApplicableError
from pulumi_policy.proxy import UNKNOWN_OBJECT_VALUE, UNKNOWN_STRING_VALUE, UnknownValueError

from gpushare_policies.rules.nodes.volume_sizes import (
    GPU_LAUNCH_TEMPLATE_VOLUME_SIZE,
)
from gpushare_policies.rules.sharing.edges import EDGES
from gpushare_policies.tokens import AWS_CLUSTER, CONFIG_MAP, LAUNCH_TEMPLATE, NODE_GROUP, RELEASE

if TYPE_CHECKING:
    from collections.abc import Callable

    from pulumi_policy import PolicyResource

(RULE,) = (each for each in EDGES if each.name == "sharing-config-exists")

LABEL = "nvidia.com/device-plugin.config"
NAMESPACE = "nvidia-device-plugin"


@pytest.fixture
def release(resource: Callable[..., PolicyResource]) -> Callable[..., PolicyResource]:
    def make(
        config: object = None, chart: str = "nvidia-device-plugin", **changes: object
    ) -> PolicyResource:
        values = {"config": {"name": "sharing-1a2b"} if config is None else config}
        props = {"chart": chart, "namespace": NAMESPACE, "values": values, **changes}
        return resource(RELEASE, "plugin", props)

    return make


@pytest.fixture
def config_map(resource: Callable[..., PolicyResource]) -> Callable[..., PolicyResource]:
    def make(
        *keys: str, name: str = "sharing-1a2b", namespace: object = NAMESPACE
    ) -> PolicyResource:
        metadata = {"name": name, "namespace": namespace}
        return resource(
            CONFIG_MAP,
            "sharing",
            {"metadata": metadata, "data": dict.fromkeys(keys, "version: v1")},
        )

    return make


@pytest.fixture
def cluster(resource: Callable[..., PolicyResource]) -> PolicyResource:
    return resource(AWS_CLUSTER, "one", {"name": "one"})


@pytest.fixture
def node_group(resource: Callable[..., PolicyResource]) -> Callable[..., PolicyResource]:
    return lambda key: resource(NODE_GROUP, "nodes", {"labels": {LABEL: key, "team": "ml"}})


MISSING = (
    "The Release plugin names the ConfigMap sharing-1a2b, which is not here. Make it in the "
    "namespace nvidia-device-plugin before the chart, or correct `values.config.name`."
)


def _missing_key(key: str, keys: str) -> str:
    return (
        f"The node group nodes has the label {LABEL}={key}, and the configurations of the Release "
        f"plugin are {keys}. Give the label one of those, or add the key to the ConfigMap."
    )


def test_a_stack_in_which_everything_fits_passes(
    release: Callable[..., PolicyResource],
    config_map: Callable[..., PolicyResource],
    node_group: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    resources = [node_group("gpu"), release(), config_map("gpu", "default")]

    assert stack_violations(RULE, resources) == []


def test_a_label_that_names_a_missing_key_is_refused(
    release: Callable[..., PolicyResource],
    config_map: Callable[..., PolicyResource],
    node_group: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    resources = [node_group("gpu"), release(), config_map("default", "a100")]

    assert stack_violations(RULE, resources) == [("nodes", _missing_key("gpu", "default, a100"))]


def test_a_config_map_that_is_missing_is_refused_once(
    release: Callable[..., PolicyResource],
    config_map: Callable[..., PolicyResource],
    node_group: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    resources = [node_group("gpu"), release(), config_map("gpu", name="other")]

    assert stack_violations(RULE, resources) == [("plugin", MISSING)]


def test_a_config_map_in_another_namespace_is_refused(
    release: Callable[..., PolicyResource],
    config_map: Callable[..., PolicyResource],
    node_group: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    resources = [node_group("gpu"), release(), config_map("gpu", namespace="kube-system")]

    assert stack_violations(RULE, resources) == [
        (
            "plugin",
            (
                "The Release plugin is in the namespace nvidia-device-plugin, and the ConfigMap "
                "sharing-1a2b in kube-system. A pod reads ConfigMaps of its own namespace only. "
                "Make the ConfigMap in the namespace nvidia-device-plugin."
            ),
        )
    ]


def test_a_namespace_that_is_not_given_is_the_provider_s_or_default(
    resource: Callable[..., PolicyResource],
    release: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    props = {"metadata": {"name": "sharing-1a2b"}, "data": {"gpu": ""}}
    provided = resource(CONFIG_MAP, "sharing", props, provider={"namespace": NAMESPACE})
    plain = resource(CONFIG_MAP, "sharing", props)

    assert stack_violations(RULE, [release(), provided]) == []
    assert stack_violations(RULE, [release(namespace=None), plain]) == []


def test_a_labelled_node_group_without_a_device_plugin_is_refused(
    node_group: Callable[..., PolicyResource],
    config_map: Callable[..., PolicyResource],
    cluster: PolicyResource,
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    labelled = [node_group("gpu"), config_map("gpu")]

    assert stack_violations(RULE, [cluster, *labelled]) == [
        (
            "nodes",
            (
                f"The node group nodes has the label {LABEL}=gpu, and nothing brings a device "
                "plugin that reads it. Install the chart nvidia-device-plugin with `config.name`, "
                "or remove the label."
            ),
        )
    ]
    # Into a cluster that was there before, another program may have brought it.
    assert stack_violations(RULE, labelled) == []


def test_a_node_group_without_the_label_needs_nothing(
    resource: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    resources = [resource(NODE_GROUP, "system", {"labels": {"team": "ml"}})]

    assert stack_violations(RULE, resources) == []


def test_a_default_that_names_a_missing_key_is_refused(
    release: Callable[..., PolicyResource],
    config_map: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    resources = [release({"name": "sharing-1a2b", "default": "none"}), config_map("gpu")]

    assert stack_violations(RULE, resources) == [
        (
            "plugin",
            (
                "The default of the Release plugin is none, and its configurations are gpu. Name "
                "one of those, or add the key to the ConfigMap."
            ),
        )
    ]


def test_a_config_map_without_data_has_no_keys(
    resource: Callable[..., PolicyResource],
    release: Callable[..., PolicyResource],
    node_group: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    metadata = {"name": "sharing-1a2b", "namespace": NAMESPACE}
    empty = resource(CONFIG_MAP, "sharing", {"metadata": metadata})

    assert stack_violations(RULE, [release(), empty, node_group("gpu")]) == [
        ("nodes", _missing_key("gpu", "none"))
    ]


@pytest.mark.parametrize(
    ("chart", "values"),
    [
        ("nvidia-device-plugin", {"config": {"map": {"gpu": "version: v1"}}}),
        ("./charts/nvidia-device-plugin-0.20.0.tgz", {"config": {"map": {"gpu": ""}}}),
        ("gpu-operator", {"devicePlugin": {"config": {"data": {"gpu": ""}, "create": True}}}),
        ("nvidia-device-plugin", {"config": {"name": "made", "map": {"gpu": "version: v1"}}}),
    ],
)
def test_documents_in_the_values_serve_a_node_group(
    chart: str,
    values: dict[str, Any],
    release: Callable[..., PolicyResource],
    node_group: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    resources = [release(chart=chart, values=values), node_group("gpu")]

    assert stack_violations(RULE, resources) == []


def test_the_gpu_operator_serves_a_node_group(
    release: Callable[..., PolicyResource],
    config_map: Callable[..., PolicyResource],
    node_group: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    values = {"devicePlugin": {"config": {"name": "sharing-1a2b", "default": "gpu"}}}
    operator = release(chart="gpu-operator", values=values)

    assert stack_violations(RULE, [operator, config_map("gpu"), node_group("gpu")]) == []


def test_a_release_of_another_chart_serves_nothing(
    release: Callable[..., PolicyResource],
    node_group: Callable[..., PolicyResource],
    cluster: PolicyResource,
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    resources = [cluster, release(chart="karpenter"), node_group("gpu")]

    assert [name for name, _ in stack_violations(RULE, resources)] == ["nodes"]


def test_the_values_of_another_chart_may_be_unknown(
    release: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    resources = [release(chart="karpenter", values=UNKNOWN_OBJECT_VALUE)]

    assert stack_violations(RULE, resources) == []


def test_an_unknown_name_beside_the_right_config_map_does_not_matter(
    release: Callable[..., PolicyResource],
    config_map: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    resources = [config_map("x", name=UNKNOWN_STRING_VALUE), release(), config_map("gpu")]

    assert stack_violations(RULE, resources) == []


def test_a_config_map_that_may_be_the_right_one_is_not_judged(
    release: Callable[..., PolicyResource],
    config_map: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    resources = [config_map("gpu", name=UNKNOWN_STRING_VALUE), release()]

    with pytest.raises(UnknownValueError):
        stack_violations(RULE, resources)


def test_a_config_map_of_unknown_name_elsewhere_is_not_the_one(
    release: Callable[..., PolicyResource],
    config_map: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    strange = config_map("gpu", name=UNKNOWN_STRING_VALUE, namespace="kube-system")

    assert stack_violations(RULE, [strange, release()]) == [("plugin", MISSING)]


@pytest.mark.parametrize(
    ("name", "namespace"), [(UNKNOWN_STRING_VALUE, NAMESPACE), ("x", UNKNOWN_STRING_VALUE)]
)
def test_one_that_may_be_the_right_one_beside_one_elsewhere_is_not_judged(
    name: str,
    namespace: str,
    resource: Callable[..., PolicyResource],
    release: Callable[..., PolicyResource],
    config_map: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    elsewhere = config_map("gpu", namespace="kube-system")
    metadata = {"name": UNKNOWN_STRING_VALUE, "namespace": namespace}
    maybe = resource(CONFIG_MAP, name, {"metadata": metadata, "data": {"gpu": ""}})

    with pytest.raises(UnknownValueError) as said:
        stack_violations(RULE, [elsewhere, maybe, release()])
    assert "whether there is the ConfigMap sharing-1a2b" in said.value.message


def test_a_config_map_of_unknown_namespace_is_the_one_of_its_name(
    release: Callable[..., PolicyResource],
    config_map: Callable[..., PolicyResource],
    node_group: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    there = config_map("gpu", namespace=UNKNOWN_STRING_VALUE)
    beside = config_map("other", namespace="kube-system")

    assert stack_violations(RULE, [beside, there, release()]) == []
    found = stack_violations(RULE, [there, release(), node_group("x")])
    assert found == [("nodes", _missing_key("x", "gpu"))]


@pytest.mark.parametrize(
    ("config", "what"),
    [
        (
            {"name": UNKNOWN_STRING_VALUE},
            "the ConfigMap of the Release plugin; the values of the Release plugin",
        ),
        ({"name": "a", "map": UNKNOWN_STRING_VALUE}, "the values of the Release plugin"),
        (
            {"map": {"gpu": ""}, "default": UNKNOWN_STRING_VALUE},
            "the default of the Release plugin",
        ),
    ],
)
def test_what_is_not_known_of_a_configuration_is_said(
    config: dict[str, Any],
    what: str,
    release: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    with pytest.raises(UnknownValueError) as said:
        stack_violations(RULE, [release(config)])

    assert said.value.message == f"could not be judged: {what}"


def test_keys_that_are_not_known_are_said_once(
    resource: Callable[..., PolicyResource],
    release: Callable[..., PolicyResource],
    node_group: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    metadata = {"name": "sharing-1a2b", "namespace": NAMESPACE}
    hidden = resource(CONFIG_MAP, "s", {"metadata": metadata, "data": UNKNOWN_OBJECT_VALUE})

    with pytest.raises(UnknownValueError) as said:
        stack_violations(RULE, [release(), hidden, node_group("gpu")])
    assert said.value.message == (
        "could not be judged: the ConfigMap sharing-1a2b of the Release plugin"
    )


def test_labels_that_are_not_known_matter_where_there_is_a_device_plugin(
    resource: Callable[..., PolicyResource],
    release: Callable[..., PolicyResource],
    config_map: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    nodes = resource(NODE_GROUP, "nodes", {"labels": {LABEL: UNKNOWN_STRING_VALUE}})

    assert stack_violations(RULE, [nodes, config_map("gpu")]) == []
    with pytest.raises(UnknownValueError) as said:
        stack_violations(RULE, [nodes, release(), config_map("gpu")])
    assert said.value.message == "could not be judged: the labels of the node group nodes"


@pytest.mark.parametrize("token", [RELEASE, CONFIG_MAP])
def test_a_preview_that_does_not_show_what_runs_in_the_cluster_is_not_judged(
    token: str,
    node_group: Callable[..., PolicyResource],
    resource: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    resources = [resource(token, "plugin", {}), node_group("gpu")]

    with pytest.raises(_NotApplicableError) as refusal:
        stack_violations(RULE, resources)

    assert refusal.value.reason == "a preview without the cluster does not show plugin"


def test_aws_auth_of_a_cluster_that_is_yet_to_be_made_hides_nothing(
    resource: Callable[..., PolicyResource],
    release: Callable[..., PolicyResource],
    config_map: Callable[..., PolicyResource],
    node_group: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    aws_auth = resource(CONFIG_MAP, "open-nodeAccess", {}, below="eks:index:Cluster")
    resources = [aws_auth, node_group("gpu"), release(), config_map("other")]

    assert [name for name, _ in stack_violations(RULE, resources)] == ["nodes"]


def _small(found: str, least: int = 100) -> str:
    return (
        f"The launch template template gives the GPU nodes of nodes {found}. There must be at "
        f"least {least} GiB, or pulling CUDA images fills it and evicts pods. Set "
        f"`blockDeviceMappings[].ebs.volumeSize`, in GiB."
    )


@pytest.fixture
def pool(resource: Callable[..., PolicyResource]) -> Callable[..., list[PolicyResource]]:
    """`pool(props)` is a GPU node group and its launch template of these properties."""

    def make(props: dict[str, Any], **changes: object) -> list[PolicyResource]:
        template = resource(LAUNCH_TEMPLATE, "template", props)
        nodes = {
            "amiType": UNKNOWN_STRING_VALUE,
            "instanceTypes": ["p3.8xlarge"],
            "launchTemplate": {"id": UNKNOWN_STRING_VALUE},
            **changes,
        }
        return [
            template,
            resource(NODE_GROUP, "nodes", nodes, uses={"launchTemplate": [template]}),
        ]

    return make


def _volumes(*sizes: object) -> dict[str, Any]:
    return {"blockDeviceMappings": [{"ebs": {"volumeSize": size}} for size in sizes]}


@pytest.mark.parametrize(
    ("props", "found"),
    [
        (_volumes(50.0), "a largest volume of 50 GiB"),
        (_volumes(4.0, 99.0), "a largest volume of 99 GiB"),
        (_volumes(None), "no volume size"),
        ({}, "no volume size"),
    ],
)
def test_a_small_volume_in_the_launch_template_of_gpu_nodes_is_refused(
    props: dict[str, Any],
    found: str,
    pool: Callable[..., list[PolicyResource]],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    assert stack_violations(GPU_LAUNCH_TEMPLATE_VOLUME_SIZE, pool(props)) == [
        ("template", _small(found))
    ]


def test_the_volume_for_images_is_the_one_that_counts(
    pool: Callable[..., list[PolicyResource]],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    resources = pool(_volumes(4.0, 200.0))

    assert stack_violations(GPU_LAUNCH_TEMPLATE_VOLUME_SIZE, resources) == []


def test_the_smallest_volume_is_configured(
    pool: Callable[..., list[PolicyResource]],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    resources = pool(_volumes(200.0))

    assert stack_violations(GPU_LAUNCH_TEMPLATE_VOLUME_SIZE, resources, {"minimumGiB": 300.0}) == [
        ("template", _small("a largest volume of 200 GiB", 300))
    ]


@pytest.mark.parametrize("changes", [{"instanceTypes": ["t3.large"]}, {"launchTemplate": None}])
def test_other_launch_templates_may_have_small_volumes(
    changes: dict[str, Any],
    pool: Callable[..., list[PolicyResource]],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    resources = pool(_volumes(20.0), **changes)

    assert stack_violations(GPU_LAUNCH_TEMPLATE_VOLUME_SIZE, resources) == []


def test_a_launch_template_of_another_stack_is_not_judged(
    resource: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    props = {"amiType": "AL2023_x86_64_NVIDIA", "launchTemplate": {"id": "lt-1"}}

    assert (
        stack_violations(GPU_LAUNCH_TEMPLATE_VOLUME_SIZE, [resource(NODE_GROUP, "nodes", props)])
        == []
    )
