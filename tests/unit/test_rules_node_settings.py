"""Rules about roles, updates, kubelet settings, instance stores and further user data of nodes."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from finding_examples import findings

from eks_gpushare.catalog import gpu_instance_types
from eks_gpushare.catalog.kubelet import BOTTLEROCKET_SETTINGS, SET_ELSEWHERE, kubelet_fields
from eks_gpushare.config.pools import Pool
from eks_gpushare.rules.node_settings import idle_keys, unread_keys

if TYPE_CHECKING:
    from eks_gpushare.rules.context import Context

ROLE = "arn:aws:iam::111122223333:role/gpu-nodes"
BOTTLEROCKET = {"amiFamily": "bottlerocket", "instanceTypes": ["g5.12xlarge"]}
NODE_CONFIG = "application/node.eks.aws"


def pool(code: str, **changes: Any) -> list[tuple[str, str]]:
    return findings({"pools": {"gpu": changes}}, code)


def system(code: str, **changes: Any) -> list[tuple[str, str]]:
    return findings({"system": changes}, code)


# --- role and updates -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "role",
    [
        ROLE,
        "arn:aws-us-gov:iam::111122223333:role/platform/nodes/gpu",
        "arn:aws-cn:iam::111122223333:role/a+b=c,d.e@f_g",
    ],
)
def test_a_role_may_be_in_any_partition_and_below_a_path(role: str) -> None:
    assert pool("GPU420", nodeRole=role) == []


@pytest.mark.parametrize(
    ("role", "message"),
    [
        ("gpu-nodes", '"gpu-nodes" is not the ARN of an IAM role.'),
        (
            "arn:aws:iam::111122223333:instance-profile/gpu-nodes",
            '"arn:aws:iam::111122223333:instance-profile/gpu-nodes" is an instance profile.',
        ),
        (
            "arn:aws:iam::111122223333:user/gpu",
            '"arn:aws:iam::111122223333:user/gpu" is not the ARN of an IAM role.',
        ),
    ],
)
def test_a_role_is_given_by_its_arn(role: str, message: str) -> None:
    assert pool("GPU420", nodeRole=role) == [("pools.gpu.nodeRole", message)]
    assert system("GPU420", nodeRole=role) == [("system.nodeRole", message)]


@pytest.mark.parametrize("most", [1, 2, 100, "1%", "33%", "100%"])
def test_nodes_may_be_exchanged_several_at_a_time(most: object) -> None:
    assert pool("GPU421", maxUnavailable=most) == []


@pytest.mark.parametrize("most", [0, 101, "0%", "101%", "33", "33 %", "all"])
def test_how_many_is_within_what_eks_takes(most: object) -> None:
    message = f"{json.dumps(most)} is neither 1 to 100 nodes nor 1% to 100% of them."

    assert pool("GPU421", maxUnavailable=most) == [("pools.gpu.maxUnavailable", message)]
    assert system("GPU421", maxUnavailable=most) == [("system.maxUnavailable", message)]


@pytest.mark.parametrize("most", [1.5, True, [2], None])
def test_how_many_is_a_number_or_a_percentage(most: object) -> None:
    found = findings({"pools": {"gpu": {"maxUnavailable": most}}}, "GPU005")

    assert [at for at, _ in found] == ([] if most is None else ["pools.gpu.maxUnavailable"])


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("nodeRole", ROLE),
        ("userData", [{"contentType": "text/x-shellscript", "content": "#!/bin/sh\n"}]),
        ("kubelet", {"maxPods": 50}),
        ("maxUnavailable", 2),
        ("localStorage", "raid0"),
    ],
)
def test_nodes_of_others_are_not_set_up_here(key: str, value: object) -> None:
    assert pool("GPU422", provisioner="existing", **{key: value}) == [
        (
            f"pools.gpu.{key}",
            f"existing leaves the nodes to others, so {key} would be ignored.",
        )
    ]
    assert pool("GPU422", **{key: value}) == []


SAID_OF_NODES_OF_OTHERS = {
    *("provisioner", "instance_types", "nodes", "ami_family", "custom_ami", "ami_version"),
    *("bottlerocket", "capacity_type", "reservation", "labels", "taints", "sharing"),
    *("karpenter", "warm", "wait_for_driver", "efa", "gpus_on_request_only"),
}


@pytest.mark.parametrize("field", Pool.model_fields)
def test_of_nodes_of_others_every_key_is_read_or_told_of(field: str) -> None:
    """A new key too: whoever adds it says here that it is read, or it is told of."""
    values: dict[str, Any] = {field: "something", "provisioner": "existing"}
    given = Pool.model_construct(**values)
    stack = cast("Context", SimpleNamespace(nodes_elsewhere=False))
    told = [*unread_keys(stack, "gpu", given), *idle_keys(stack, "gpu", given)]

    assert bool(told) == (field not in SAID_OF_NODES_OF_OTHERS)
    assert {each.at[2] for each in told} <= {Pool.model_fields[field].alias}


# --- kubelet ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kubelet",
    [
        {"maxPods": 50, "podPidsLimit": 4096},
        {"systemReserved": {"cpu": "100m"}, "evictionHard": {"memory.available": "5%"}},
        {"cpuManagerPolicy": "static", "cpuManagerPolicyOptions": {"full-pcpus-only": "true"}},
        {"featureGates": {"NodeLogQuery": True}, "shutdownGracePeriod": "1m30s"},
        {"memoryThrottlingFactor": 1, "reservedMemory": [{"numaNode": 0}]},
        {"memorySwap": {"swapBehavior": "LimitedSwap"}},
    ],
)
def test_fields_of_the_kubelet_s_configuration_may_be_set(kubelet: dict[str, Any]) -> None:
    for code in ("GPU426", "GPU427"):
        assert pool(code, kubelet=kubelet) == []
        assert system(code, kubelet=kubelet) == []


@pytest.mark.parametrize(
    ("kubelet", "message"),
    [
        ({"maxPod": 50}, "maxPod is not a field of KubeletConfiguration."),
        ({"max-pods": 50}, "max-pods is not a field of KubeletConfiguration."),
        ({"maxPods": "50"}, '"50" is not a whole number.'),
        ({"maxPods": True}, "true is not a whole number."),
        ({"cpuCFSQuota": "true"}, '"true" is not true or false.'),
        ({"shutdownGracePeriod": 30}, '30 is not a duration such as "30s".'),
        ({"shutdownGracePeriod": "soon"}, '"soon" is not a duration such as "30s".'),
        ({"systemReserved": {"cpu": 1}}, '{"cpu": 1} is not a mapping to texts.'),
        ({"featureGates": {"A": "on"}}, '{"A": "on"} is not a mapping to true or false.'),
        ({"allowedUnsafeSysctls": "net.*"}, '"net.*" is not a list.'),
        ({"memorySwap": "on"}, '"on" is not a mapping.'),
    ],
)
def test_a_field_and_its_value_are_ones_that_kubelet_takes(
    kubelet: dict[str, Any], message: str
) -> None:
    (key,) = kubelet

    assert pool("GPU426", kubelet=kubelet) == [(f"pools.gpu.kubelet.{key}", message)]
    assert system("GPU426", kubelet=kubelet) == [(f"system.kubelet.{key}", message)]


def test_a_field_is_one_of_the_cluster_s_version() -> None:
    kubelet = {"userNamespaces": {"idsPerPod": 65536}}
    old = {"cluster": {"version": "1.32"}, "pools": {"gpu": {"kubelet": kubelet}}}

    assert findings(old, "GPU426") == [
        (
            "pools.gpu.kubelet.userNamespaces",
            "The kubelet has userNamespaces since 1.33; the cluster has 1.32.",
        )
    ]
    assert pool("GPU426", kubelet=kubelet) == []


@pytest.mark.parametrize("name", sorted(SET_ELSEWHERE))
def test_what_others_set_is_refused(name: str) -> None:
    assert name in kubelet_fields()
    (found,) = pool("GPU427", kubelet={name: "x"})

    assert found == (
        f"pools.gpu.kubelet.{name}",
        f"{name} is not for a stack to set: {SET_ELSEWHERE[name]}.",
    )


def test_bottlerocket_takes_what_it_has_a_setting_for() -> None:
    assert BOTTLEROCKET_SETTINGS.keys() <= kubelet_fields().keys()
    assert not BOTTLEROCKET_SETTINGS.keys() & SET_ELSEWHERE.keys()
    assert pool("GPU428", **BOTTLEROCKET, kubelet={"maxPods": 50}) == []
    assert pool("GPU428", **BOTTLEROCKET, kubelet={"podsPerCore": 4}) == [
        (
            "pools.gpu.kubelet.podsPerCore",
            "Bottlerocket has no setting for podsPerCore in all its releases.",
        )
    ]


def test_fewer_pods_than_shares_are_noticed() -> None:
    sharing = {"mode": "timeSlicing", "replicas": 10}
    shared = {"instanceTypes": ["g5.12xlarge"], "sharing": sharing}

    assert pool("GPU209", **shared) == []
    assert pool("GPU209", **shared, kubelet={"maxPods": 30}) == [
        (
            "pools.gpu.sharing.replicas",
            "g5.12xlarge advertises 40 shares but takes 30 pods, about 8 of them the node's own.",
        )
    ]


# --- instance store ---------------------------------------------------------------------------


def test_a_type_without_an_instance_store_is_refused() -> None:
    assert pool("GPU429", instanceTypes=["g5.xlarge"], localStorage="raid0") == []
    assert pool("GPU429", instanceTypes=["g5g.xlarge"], localStorage="raid0") == [
        ("pools.gpu.localStorage", "g5g.xlarge has no instance store.")
    ]


def test_of_a_type_that_is_added_the_instance_store_is_not_known() -> None:
    added = {
        "vcpus": 8,
        "memoryMiB": 32768,
        "arch": "amd64",
        "gpu": {"model": "L4", "count": 1, "memoryMiB": 22888, "computeCapability": "8.9"},
    }
    changes = {
        "catalog": {"instanceTypes": {"g9.2xlarge": added}},
        "pools": {"gpu": {"instanceTypes": ["g9.2xlarge"], "localStorage": "raid0"}},
    }

    assert "g9.2xlarge" not in gpu_instance_types()
    assert findings(changes, "GPU429") == []


def test_images_on_the_instance_store_need_no_large_root_volume() -> None:
    given = {"instanceTypes": ["g5.xlarge"], "rootVolumeGiB": 50}

    assert pool("GPU506", **given) != []
    assert pool("GPU506", **given, localStorage="raid0") == []


# --- further user data ------------------------------------------------------------------------


def part(content: str, kind: str = "text/x-shellscript") -> dict[str, Any]:
    return {"userData": [{"contentType": kind, "content": content}]}


def config(spec: object, **head: object) -> dict[str, Any]:
    document = {"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig", "spec": spec, **head}
    return part(json.dumps(document), NODE_CONFIG)


@pytest.mark.parametrize(
    "given",
    [
        part("#!/bin/bash\necho x\n"),
        part("#!/bin/bash\necho x\n", 'text/x-shellscript; charset="us-ascii"'),
        part("#!/bin/bash\necho x\n", "text/x-shellscript-per-boot"),
        part("packages: [audit]\n", "text/cloud-config"),
        part("#!/bin/sh\n", "text/cloud-boothook"),
        config({"containerd": {"config": "[x]\na = 1\n"}}),
        config({"kubelet": {"config": {"maxPods": 5}, "flags": ["--node-labels=a=b"]}}),
    ],
)
def test_parts_that_nodes_read(given: dict[str, Any]) -> None:
    for code in ("GPU423", "GPU424", "GPU425"):
        assert pool(code, **given) == []
        assert system(code, **given) == []


@pytest.mark.parametrize(
    ("given", "key", "message"),
    [
        (
            part("#!/bin/sh\n", "text/shellscript"),
            "contentType",
            '"text/shellscript" is nothing that cloud-init or nodeadm reads.',
        ),
        (
            part("#!/bin/sh\n", "text/x-shellscript\nX: y"),
            "contentType",
            '"text/x-shellscript\nX: y" is nothing that cloud-init or nodeadm reads.',
        ),
        (part("echo x\n"), "content", "A script has to say what runs it."),
        (
            part("#!/bin/sh\n--eks-gpushare--\n"),
            "content",
            "A line begins like what stands between the parts of the user data.",
        ),
        (
            part("- packages\n", "text/cloud-config"),
            "content",
            "The content is no YAML mapping, as text/cloud-config has to be.",
        ),
        (
            part("{", NODE_CONFIG),
            "content",
            f"The content is no YAML mapping, as {NODE_CONFIG} has to be.",
        ),
        (part(" \n", "text/part-handler"), "content", "The part is empty."),
        (
            config({}, kind="NodeConfiguration"),
            "content",
            "nodeadm reads a NodeConfig of node.eks.aws/v1alpha1 with a spec.",
        ),
        (config({"kublet": {}}), "content", "spec.kublet is nothing that nodeadm reads."),
        (
            config({"kubelet": {"config": {"maxPod": 5}}}),
            "content",
            "spec.kubelet.config: maxPod is not a field of KubeletConfiguration.",
        ),
        (
            part("[settings]", "application/toml"),
            "contentType",
            '"application/toml" is nothing that cloud-init or nodeadm reads.',
        ),
    ],
)
def test_parts_that_nodes_do_not_read(given: dict[str, Any], key: str, message: str) -> None:
    assert pool("GPU423", **given) == [(f"pools.gpu.userData[0].{key}", message)]
    assert system("GPU423", **given) == [(f"system.userData[0].{key}", message)]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            {"cluster": {"name": "x"}},
            "spec.cluster is told by this project, or by EKS where the image is its own.",
        ),
        (
            {"kubelet": {"flags": ["--register-with-taints=a=b:NoSchedule"]}},
            "The last --register-with-taints is the whole list: the pool's taints would be gone.",
        ),
    ],
)
def test_a_node_config_leaves_to_others_what_is_theirs(spec: object, message: str) -> None:
    assert pool("GPU424", **config(spec)) == [("pools.gpu.userData[0].content", message)]


def toml(content: str) -> dict[str, Any]:
    return {**BOTTLEROCKET, **part(content, "application/toml")}


@pytest.mark.parametrize(
    "text",
    [
        "[settings.kernel.sysctl]\n'vm.nr_hugepages' = '5128'\n",
        '[settings.host-containers.admin]\nenabled = true\nsource = "x"\n',
        "[settings.kubernetes]\nallowed-unsafe-sysctls = ['net.*']\n",
    ],
)
def test_bottlerocket_s_further_settings_are_toml(text: str) -> None:
    for code in ("GPU423", "GPU424"):
        assert pool(code, **toml(text)) == []


@pytest.mark.parametrize(
    ("code", "given", "key", "message"),
    [
        (
            "GPU423",
            {**BOTTLEROCKET, **part("#!/bin/sh\n")},
            "contentType",
            'Bottlerocket has no cloud-init and no nodeadm for "text/x-shellscript".',
        ),
        (
            "GPU423",
            toml("[kernel]\na = 1\n"),
            "content",
            "User data of Bottlerocket has settings, and nothing else.",
        ),
        (
            "GPU423",
            toml('[settings.kernel."x y"]\na = 1\n'),
            "content",
            "EKS cannot merge quoted keys in headers, nor quotes within values.",
        ),
        (
            "GPU424",
            toml("[settings.kubernetes.node-labels]\na = 'b'\n"),
            "content",
            "settings.kubernetes.node-labels is set by this project, or by EKS.",
        ),
        (
            "GPU424",
            toml("[settings.kubelet-device-plugins.nvidia]\nenabled = false\n"),
            "content",
            "settings.kubelet-device-plugins.nvidia is set by this project, or by EKS.",
        ),
        (
            "GPU424",
            {**toml("[settings.kubernetes]\nmax-pods = 3\n"), "kubelet": {"maxPods": 5}},
            "content",
            "settings.kubernetes.max-pods is set by this project, or by EKS.",
        ),
    ],
)
def test_settings_that_bottlerocket_or_eks_would_not_take(
    code: str, given: dict[str, Any], key: str, message: str
) -> None:
    assert pool(code, **given) == [(f"pools.gpu.userData[0].{key}", message)]


def test_settings_that_are_no_toml_are_refused() -> None:
    ((at, message),) = pool("GPU423", **toml("settings"))

    assert at == "pools.gpu.userData[0].content"
    assert message.startswith("The content is no TOML: ")


def test_user_data_leaves_room_for_that_of_eks() -> None:
    script = part("#!/bin/sh\n" + "# 0123456789\n" * 1000)
    message = "The user data has 13168 bytes; at most 12288 leave EKS room for its own."

    assert pool("GPU425", **script) == [("pools.gpu.userData", message)]
    assert system("GPU425", **script) == [("system.userData", message)]


def test_labels_of_an_image_of_ones_own_are_in_its_user_data() -> None:
    image = {"id": "ami-0123456789abcdef0", "family": "al2023", "driverIncluded": True}
    custom = {
        "amiFamily": "custom",
        "customAmi": image,
        "amiVersion": None,
        "instanceTypes": ["p4d.24xlarge"],
        "sharing": {"mode": "mig", "layout": "all-1g.5gb"},
    }
    labels = {f"example.com/{n:02d}{'k' * 40}": "v" * 63 for n in range(50)}

    assert pool("GPU425", **custom, labels={"team": "a"}) == []
    assert pool("GPU425", labels=labels) == []
    ((at, message),) = pool("GPU425", **custom, labels=labels)
    assert at == "pools.gpu.labels"
    assert message.endswith("bytes, with the labels; EC2 takes 16384.")
