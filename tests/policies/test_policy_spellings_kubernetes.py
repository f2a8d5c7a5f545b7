"""One mistake in many spellings, and beside each the same with the mistake put right."""

from __future__ import annotations

import base64
import io
import json
import tarfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from pulumi import FileAsset, StringAsset

from gpushare_policies import POLICIES
from gpushare_policies.reading import charts
from gpushare_policies.reading.charts import chart_name
from gpushare_policies.rule import ResourcePolicy
from gpushare_policies.tokens import AWS_CLUSTER, LAUNCH_TEMPLATE, NODE_GROUP

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence, Sized
    from pathlib import Path

    from pulumi_policy import PolicyResource

RULES = {rule.name: rule for rule in POLICIES}
RELEASE, CHART = "kubernetes:helm.sh/v3:Release", "kubernetes:helm.sh/v4:Chart"
CONFIG_MAP = "kubernetes:core/v1:ConfigMap"
LIST = "kubernetes:core/v1:List"
BINDING = "kubernetes:rbac.authorization.k8s.io/v1:RoleBinding"
CLUSTER_BINDING = "kubernetes:rbac.authorization.k8s.io/v1:ClusterRoleBinding"
NODE_POOL = "kubernetes:karpenter.sh/v1:NodePool"
LABEL = "nvidia.com/device-plugin.config"
PRESENT = {"nvidia.com/gpu.present": "true"}
ANY = [{"operator": "Exists"}]


@dataclass(frozen=True)
class Made:
    """A resource of a program."""

    token: str
    name: str
    props: dict[str, Any]
    options: dict[str, Any] = field(default_factory=dict)


@pytest.fixture
def judged(
    resource: Callable[..., PolicyResource],
    violations: Callable[..., list[str]],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> Callable[[str, Sequence[Made]], list[str]]:
    """`judged(rule, resources)` are the messages of a rule."""

    def run(name: str, made: Sequence[Made]) -> list[str]:
        rule = RULES[name]
        if isinstance(rule, ResourcePolicy):
            return [said for each in made for said in violations(rule, each.token, each.props)]
        resources = [resource(each.token, each.name, each.props, **each.options) for each in made]
        return [said for _, said in stack_violations(rule, resources)]

    return run


# --- documents of the device plugin ------------------------------------------------------------

PLAIN = "version: v1\nsharing:\n  timeSlicing:\n    resources:\n    - {name: %s, replicas: %s}\n"


def _plain(count: object, name: str = "nvidia.com/gpu") -> str:
    return PLAIN % (name, count)


def _json(count: int) -> str:
    resources = [{"name": "nvidia.com/gpu", "replicas": count}]
    return json.dumps({"version": "v1", "sharing": {"timeSlicing": {"resources": resources}}})


MANY, FEW = 9, 8
"""More than AWS advises, and the most that it does."""
DOCUMENTS: dict[str, Callable[[int], str]] = {
    "plain": _plain,
    "without a version": lambda n: _plain(n).replace("version: v1\n", ""),
    "JSON": _json,
    "JSON on many lines": lambda n: json.dumps(json.loads(_json(n)), indent=2),
    "a resource without its prefix": lambda n: _plain(n, "gpu"),
    "a resource of MIG": lambda n: _plain(n, "nvidia.com/mig-1g.5gb"),
    "keys in another case": lambda n: (
        _plain(n).replace("sharing", "Sharing").replace("timeSlicing", "TimeSlicing")
    ),
    "keys in small letters": lambda n: _plain(n).replace("timeSlicing", "timeslicing"),
    "quoted keys": lambda n: _plain(n).replace("timeSlicing:", '"timeSlicing":'),
    "flow style": lambda n: (
        f"{{sharing: {{timeSlicing: {{resources: [{{replicas: {n}, name: nvidia.com/gpu}}]}}}}}}"
    ),
    "a document mark": lambda n: f"---\n{_plain(n)}",
    "a comment before": lambda n: f"# shares\n\n{_plain(n)}...\n",
    "lines of Windows": lambda n: _plain(n).replace("\n", "\r\n"),
    "an anchor": lambda n: (
        "sharing:\n  timeSlicing:\n    resources: &r\n"
        f"    - {{name: nvidia.com/gpu, replicas: {n}}}\nother: *r\n"
    ),
    "a merge key": lambda n: (
        f"x: &x {{resources: [{{name: nvidia.com/gpu, replicas: {n}}}]}}\n"
        "sharing:\n  timeSlicing:\n    <<: *x\n"
    ),
    "hexadecimal": lambda n: _plain(hex(n)),
    "octal": lambda n: _plain(f"0{n:o}"),
    "octal of today": lambda n: _plain(f"0o{n:o}"),
    "an exponent": lambda n: _plain(f"{n / 10}e1"),
    "a float": lambda n: _plain(f"{n}.0"),
    "renamed": lambda n: _plain(n).replace("resources:", "renameByDefault: true\n    resources:"),
    "the first of two documents": lambda n: f"{_plain(n)}---\n{_plain(FEW)}",
    "two resources": lambda n: (
        _plain(FEW) + f"    - {{name: nvidia.com/mig-1g.5gb, replicas: {n}}}\n"
    ),
    "a comment that names much": lambda n: f"# timeSlicing, mps, migStrategy, sharing\n{_plain(n)}",
    "MPS that is null": lambda n: _plain(n) + "  mps: null\n",
}


@pytest.mark.parametrize("spelling", DOCUMENTS)
def test_a_document_is_read_as_the_plugin_reads_it(
    spelling: str, judged: Callable[..., list[str]]
) -> None:
    for count, expected in ((MANY, 1), (FEW, 0)):
        made = [Made(CONFIG_MAP, "map", {"data": {"gpu": DOCUMENTS[spelling](count)}})]
        assert len(judged("time-slicing-replicas", made)) == expected


UNREAD: dict[str, str] = {
    "of the second document nothing is read": f"{_plain(FEW)}---\n{_plain(MANY)}",
    "MPS goes over time slicing": _plain(MANY) + "  mps: {resources: [{name: a, replicas: 4}]}\n",
    "a key in another place": f"flags:\n  timeSlicing:\n    replicas: {MANY}\n",
    "what is within a comment": "\n".join(f"# {line}" for line in _plain(MANY).split("\n")),
}


@pytest.mark.parametrize("spelling", UNREAD)
def test_what_the_plugin_does_not_read_does_not_count(
    spelling: str, judged: Callable[..., list[str]]
) -> None:
    made = [Made(CONFIG_MAP, "map", {"data": {"gpu": UNREAD[spelling]}})]

    assert judged("time-slicing-replicas", made) == []


def _coded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _toml(count: int) -> str:
    return (
        "[settings.kubelet-device-plugins.nvidia]\ndevice-sharing-strategy = 'time-slicing'\n"
        f"[settings.kubelet-device-plugins.nvidia.time-slicing]\nreplicas = {count}\n"
    )


def _values(count: int) -> dict[str, Any]:
    return {"config": {"map": {"gpu": _plain(count)}}}


HOLDERS: dict[str, Callable[[int], list[Made]]] = {
    "binaryData": lambda n: [Made(CONFIG_MAP, "m", {"binaryData": {"gpu": _coded(_plain(n))}})],
    "binaryData on lines": lambda n: [
        Made(
            CONFIG_MAP,
            "m",
            {"binaryData": {"gpu": base64.encodebytes(_plain(n).encode()).decode()}},
        )
    ],
    "a patch": lambda n: [Made(f"{CONFIG_MAP}Patch", "m", {"data": {"gpu": _plain(n)}})],
    "a list of its kind": lambda n: [
        Made(f"{CONFIG_MAP}List", "m", {"items": [{"data": {"gpu": _plain(n)}}]})
    ],
    "a list of any kind": lambda n: [
        Made(
            LIST,
            "m",
            {"items": [{"kind": "ConfigMap", "apiVersion": "v1", "data": {"a": _plain(n)}}]},
        )
    ],
    "values": lambda n: [
        Made(RELEASE, "r", {"chart": "nvidia-device-plugin", "values": _values(n)})
    ],
    "values of version 4": lambda n: [Made(CHART, "r", {"chart": "x", "values": _values(n)})],
    "values of the operator": lambda n: [
        Made(
            RELEASE,
            "r",
            {
                "chart": "gpu-operator",
                "values": {"devicePlugin": {"config": {"data": {"gpu": _plain(n)}}}},
            },
        )
    ],
    "values of a text": lambda n: [
        Made(
            RELEASE,
            "r",
            {"chart": "x", "valueYamlFiles": [StringAsset(json.dumps(_values(n)))]},
        )
    ],
    "settings of Bottlerocket": lambda n: [
        Made(LAUNCH_TEMPLATE, "t", {"userData": _coded(_toml(n))})
    ],
    "settings of Bottlerocket in plain text": lambda n: [
        Made(LAUNCH_TEMPLATE, "t", {"userData": _toml(n)})
    ],
    "a key of Bottlerocket that is spelt with an escape": lambda n: [
        Made(
            LAUNCH_TEMPLATE,
            "t",
            {"userData": _toml(n).replace("nvidia.time-slicing", 'nvidia."time\\u002dslicing"')},
        )
    ],
    "settings of Bottlerocket in a node class": lambda n: [
        Made(
            "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass",
            "c",
            {
                "spec": {
                    "userData": _toml(n),
                    "amiSelectorTerms": [{"alias": "bottlerocket@v1.50.0"}],
                }
            },
        )
    ],
}


@pytest.mark.parametrize("spelling", HOLDERS)
def test_a_document_counts_wherever_it_stands(
    spelling: str, judged: Callable[..., list[str]]
) -> None:
    assert len(judged("time-slicing-replicas", HOLDERS[spelling](MANY))) == 1
    assert judged("time-slicing-replicas", HOLDERS[spelling](FEW)) == []


def test_files_of_values_are_merged_as_helm_merges_them(
    tmp_path: Path, judged: Callable[..., list[str]]
) -> None:
    many, few = tmp_path / "many.yaml", tmp_path / "few.yaml"
    many.write_text(json.dumps(_values(MANY)), encoding="utf-8")
    few.write_text(json.dumps(_values(FEW)), encoding="utf-8")
    assets = {True: FileAsset(str(many)), False: FileAsset(str(few))}
    for files, values, expected in (
        ((True,), None, 1),
        ((False,), None, 0),
        ((False, True), None, 1),
        ((True, False), None, 0),
        ((True,), FEW, 0),
        ((False,), MANY, 1),
    ):
        props: dict[str, Any] = {
            "chart": "nvidia-device-plugin",
            "valueYamlFiles": [assets[each] for each in files],
        }
        if values is not None:
            props["values"] = _values(values)
        found = judged("time-slicing-replicas", [Made(RELEASE, "r", props)])
        assert len(found) == expected, (files, values)


# --- charts ------------------------------------------------------------------------------------


def _nodes(**changes: Any) -> Made:
    props = {
        "instanceTypes": ["g6.xlarge"],
        "labels": PRESENT,
        "taints": [{"key": "team", "value": "ml", "effect": "NO_SCHEDULE"}],
        **changes,
    }
    return Made(NODE_GROUP, "nodes", props)


CLUSTER = Made(AWS_CLUSTER, "cluster", {"name": "one"})
CHARTS = (
    "nvidia-device-plugin",
    "nvdp/nvidia-device-plugin",
    "./charts/nvidia-device-plugin",
    "/srv/charts/nvidia-device-plugin/",
    "./nvidia-device-plugin-0.20.0.tgz",
    "./nvidia-device-plugin-0.20.0-rc.1.tar.gz",
    "https://charts.example/nvidia-device-plugin-0.20.0.tgz",
    "https://charts.example/nvidia-device-plugin-v0.20.0.tgz?token=abc",
    "oci://registry.example/nvidia/nvidia-device-plugin",
    "oci://registry.example:5000/nvidia-device-plugin:0.20.0",
    "oci://registry.example/nvidia-device-plugin@sha256:0a1b",
    "oci://registry.example/acme-nvidia-device-plugin",
    "gpu-operator",
    "nvidia/gpu-operator",
    "oci://registry.example/mirror/gpu-operator:v26.7.0",
)


def _tolerating(chart: str, tolerations: object) -> dict[str, Any]:
    if "gpu-operator" not in chart:
        return {"tolerations": tolerations}
    worker = {"worker": {"tolerations": tolerations}}
    return {"daemonsets": {"tolerations": tolerations}, "node-feature-discovery": worker}


@pytest.mark.parametrize("token", [RELEASE, CHART])
@pytest.mark.parametrize("chart", CHARTS)
def test_a_chart_is_known_however_it_is_referred_to(
    chart: str, token: str, judged: Callable[..., list[str]]
) -> None:
    for values, expected in ((_tolerating(chart, []), 1), (_tolerating(chart, ANY), 0)):
        made = [CLUSTER, _nodes(), Made(token, "plugin", {"chart": chart, "values": values})]
        assert len(judged("gpu-stack-tolerates-taints", made)) == expected


def _chart_folder(folder: Path, content: Mapping[str, Any]) -> str:
    folder.mkdir()
    (folder / "Chart.yaml").write_text(json.dumps(content), encoding="utf-8")
    return str(folder)


def _chart_archive(file: Path, content: Mapping[str, Any]) -> str:
    packed = json.dumps(content).encode()
    with tarfile.open(file, "w:gz") as archive:
        entry = tarfile.TarInfo("whatever/Chart.yaml")
        entry.size = len(packed)
        archive.addfile(entry, io.BytesIO(packed))
    return str(file)


PLUGIN = {"name": "nvidia-device-plugin", "version": "0.20.0"}


def _umbrella(**changes: str) -> dict[str, Any]:
    return {"name": "platform", "version": "1.0.0", "dependencies": [{**PLUGIN, **changes}]}


def _packed(file: Path, names: Sequence[str], content: str) -> str:
    """An archive of files with one content."""
    with tarfile.open(file, "w:gz") as archive:
        for name in names:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content.encode()))
    return str(file)


@pytest.mark.parametrize(
    ("names", "is_read"),
    [
        (["a/Chart.yaml"], True),
        (["./a/Chart.yaml"], True),
        (["a/values.yaml", "a/Chart.yaml"], True),
        (["a/charts/b/Chart.yaml"], False),
        (["a/values.yaml"], False),
        (["Chart.yaml"], False),
    ],
)
def test_a_chart_s_own_file_is_at_the_top(
    tmp_path: Path, names: Sequence[str], is_read: bool
) -> None:
    file = _packed(tmp_path / "gpus-1.0.0.tgz", names, json.dumps(PLUGIN))

    assert chart_name(file) == ("nvidia-device-plugin" if is_read else "gpus")


@pytest.mark.parametrize("content", ["name: 5", "name: ''", "[]", "{", "\x00", "name: null"])
def test_a_file_that_names_no_chart_leaves_the_name(tmp_path: Path, content: str) -> None:
    folder = tmp_path / "nvidia-device-plugin"
    folder.mkdir()
    (folder / "Chart.yaml").write_text(content, encoding="utf-8")
    (tmp_path / "gpu-operator").write_text("no archive", encoding="utf-8")
    (tmp_path / "karpenter").mkdir()

    assert chart_name(str(folder)) == "nvidia-device-plugin"
    assert chart_name(str(tmp_path / "gpu-operator")) == "gpu-operator"
    assert chart_name(str(tmp_path / "karpenter")) == "karpenter"


def test_nothing_is_read_of_no_chart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "Chart.yaml").write_text(json.dumps(PLUGIN), encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    assert chart_name("") == ""
    assert chart_name(".") == "nvidia-device-plugin"


def test_archives_are_read_up_to_a_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = _packed(tmp_path / "gpus-1.0.0.tgz", ["a/b", "a/Chart.yaml"], json.dumps(PLUGIN))
    size = (tmp_path / "gpus-1.0.0.tgz").stat().st_size
    for bytes_, entries, name in (
        (size, 1, "nvidia-device-plugin"),
        (size - 1, 1, "gpus"),
        (size, 0, "gpus"),
    ):
        monkeypatch.setattr(charts, "_MOST_ARCHIVE", bytes_)
        monkeypatch.setattr(charts, "_MOST_ENTRIES", entries)
        assert chart_name(file) == name


LOCAL: dict[str, tuple[Callable[[Path], str], tuple[str, ...]]] = {
    "a folder of another name": (lambda p: _chart_folder(p / "gpus", PLUGIN), ()),
    "an archive of another name": (lambda p: _chart_archive(p / "gpus.tgz", PLUGIN), ()),
    "a chart around it": (
        lambda p: _chart_folder(p / "platform", _umbrella()),
        ("nvidia-device-plugin",),
    ),
    "a chart around it, by an alias": (
        lambda p: _chart_archive(p / "platform-1.0.0.tgz", _umbrella(alias="plugin")),
        ("plugin",),
    ),
    "a chart around it that is switched on": (
        lambda p: _chart_folder(p / "platform", _umbrella(condition="missing, gpus.enabled")),
        ("nvidia-device-plugin",),
    ),
}


@pytest.mark.parametrize("spelling", LOCAL)
def test_a_chart_that_is_here_says_what_it_is(
    spelling: str, tmp_path: Path, judged: Callable[..., list[str]]
) -> None:
    make, path = LOCAL[spelling]
    chart = make(tmp_path)
    for tolerations, expected in (([], 1), (ANY, 0)):
        values: dict[str, Any] = {"tolerations": tolerations}
        for key in path:
            values = {key: values, "gpus": {"enabled": True}}
        made = [CLUSTER, _nodes(), Made(RELEASE, "plugin", {"chart": chart, "values": values})]
        assert len(judged("gpu-stack-tolerates-taints", made)) == expected


def test_a_part_that_is_switched_off_is_not_there(
    tmp_path: Path, judged: Callable[..., list[str]]
) -> None:
    chart = _chart_folder(tmp_path / "platform", _umbrella(condition="gpus.enabled"))
    values = {"gpus": {"enabled": False}, "nvidia-device-plugin": {"tolerations": []}}
    made = [CLUSTER, _nodes(), Made(RELEASE, "plugin", {"chart": chart, "values": values})]

    assert judged("gpu-stack-tolerates-taints", made) == []


TEAM = {"key": "team", "value": "ml"}
NODE_CLASS = Made(
    "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass",
    "class",
    {"metadata": {"name": "gpu"}, "spec": {"amiSelectorTerms": [{"alias": "al2023@v20260930"}]}},
)
NODES: dict[str, Callable[[str], list[Made]]] = {
    "a node group": lambda e: [_nodes(taints=[{**TEAM, "effect": e}])],
    "a type in the launch template": lambda e: [
        Made(
            NODE_GROUP,
            "nodes",
            {
                "labels": PRESENT,
                "amiType": "AL2023_x86_64_NVIDIA",
                "taints": [{**TEAM, "effect": e}],
            },
        )
    ],
    "a node group of pulumi_eks": lambda e: [
        Made(
            "eks:index:ManagedNodeGroup",
            "nodes",
            {
                "instanceTypes": ["g5.xlarge"],
                "labels": PRESENT,
                "taints": [{**TEAM, "effect": e}],
            },
        )
    ],
    "a scaling group of pulumi_eks": lambda e: [
        Made(
            "eks:index:NodeGroupV2",
            "nodes",
            {
                "instanceType": "g5.xlarge",
                "labels": PRESENT,
                "taints": {"team": {"value": "ml", "effect": e}},
            },
        )
    ],
    "a NodePool": lambda e: [_pool(e), NODE_CLASS],
    "a NodePool in a list": lambda e: [
        Made(f"{NODE_POOL}List", "pools", {"items": [_pool(e).props]}),
        NODE_CLASS,
    ],
}


def _pool(effect: str) -> Made:
    spelled = {"NO_SCHEDULE": "NoSchedule", "PREFER_NO_SCHEDULE": "PreferNoSchedule"}[effect]
    kind = {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["g6.xlarge"]}
    template = {
        "metadata": {"labels": PRESENT},
        "spec": {
            "requirements": [kind],
            "taints": [{**TEAM, "effect": spelled}],
            "nodeClassRef": {
                "group": "karpenter.k8s.aws",
                "kind": "EC2NodeClass",
                "name": "gpu",
            },
        },
    }
    return Made(NODE_POOL, "nodes", {"metadata": {"name": "gpu"}, "spec": {"template": template}})


@pytest.mark.parametrize("spelling", NODES)
def test_nodes_are_known_whatever_makes_them(
    spelling: str, judged: Callable[..., list[str]]
) -> None:
    plugin = Made(RELEASE, "plugin", {"chart": "nvidia-device-plugin", "values": {}})
    for effect, expected in (("NO_SCHEDULE", 1), ("PREFER_NO_SCHEDULE", 0)):
        made = [CLUSTER, *NODES[spelling](effect), plugin]
        assert len(judged("gpu-stack-tolerates-taints", made)) == expected


def test_a_chart_of_gpus_tells_which_cluster_is_meant(judged: Callable[..., list[str]]) -> None:
    """Of two that are reached by contexts, the one with a device plugin has the GPU nodes."""
    for tolerations, expected in (([], 1), (ANY, 0)):
        values = {"tolerations": tolerations}
        made = [
            _nodes(clusterName="one"),
            Made(RELEASE, "k", {"chart": "karpenter"}, {"provider": {"context": "other"}}),
            Made(
                RELEASE,
                "p",
                {"chart": "nvidia-device-plugin", "values": values},
                {"provider": {"context": "mine"}},
            ),
        ]
        assert len(judged("gpu-stack-tolerates-taints", made)) == expected


# --- one cluster and another ---------------------------------------------------------------------


def _kubeconfig(server: str) -> dict[str, Any]:
    cluster = {"name": "c", "cluster": {"server": f"https://{server}.example"}}
    return {"kubeconfig": json.dumps({"kind": "Config", "clusters": [cluster]})}


def _config_map(**props: Any) -> dict[str, Any]:
    metadata = {"name": "sharing", "namespace": "gpu"}
    return {"metadata": metadata, "data": {"shared": _plain(FEW)}, **props}


_RELEASE = {
    "chart": "nvidia-device-plugin",
    "namespace": "gpu",
    "values": {"config": {"name": "sharing"}},
}
ONE, OTHER = {"provider": _kubeconfig("one")}, {"provider": _kubeconfig("other")}

# What is wrong, what is right: of each the resources.
CONFIGS: dict[str, tuple[list[Made], list[Made]]] = {
    "on another cluster's provider": (
        [Made(RELEASE, "r", _RELEASE, ONE), Made(CONFIG_MAP, "m", _config_map(), OTHER)],
        [Made(RELEASE, "r", _RELEASE, ONE), Made(CONFIG_MAP, "m", _config_map(), ONE)],
    ),
    "in another namespace": (
        [
            Made(RELEASE, "r", _RELEASE),
            Made(CONFIG_MAP, "m", _config_map(metadata={"name": "sharing"})),
        ],
        [
            Made(RELEASE, "r", _RELEASE, {"provider": {"namespace": "gpu"}}),
            Made(
                CONFIG_MAP,
                "m",
                _config_map(metadata={"name": "sharing"}),
                {"provider": {"namespace": "gpu"}},
            ),
        ],
    ),
    "in a list": (
        [
            Made(RELEASE, "r", _RELEASE),
            Made(
                f"{CONFIG_MAP}List",
                "m",
                {"items": [_config_map(metadata={"name": "other", "namespace": "gpu"})]},
            ),
        ],
        [Made(RELEASE, "r", _RELEASE), Made(f"{CONFIG_MAP}List", "m", {"items": [_config_map()]})],
    ),
    "named in a file of values": (
        [
            Made(
                RELEASE,
                "r",
                {
                    **_RELEASE,
                    "values": {},
                    "valueYamlFiles": [StringAsset("config: {name: other}")],
                },
            ),
            Made(CONFIG_MAP, "m", _config_map()),
        ],
        [
            Made(
                RELEASE,
                "r",
                {
                    **_RELEASE,
                    "values": {},
                    "valueYamlFiles": [StringAsset("config: {name: sharing}")],
                },
            ),
            Made(CONFIG_MAP, "m", _config_map()),
        ],
    ),
    "a label that names no key": (
        [
            Made(RELEASE, "r", _RELEASE),
            Made(CONFIG_MAP, "m", _config_map()),
            _nodes(labels={LABEL: "none"}),
        ],
        [
            Made(RELEASE, "r", _RELEASE),
            Made(CONFIG_MAP, "m", _config_map()),
            _nodes(labels={LABEL: "shared"}),
        ],
    ),
    "a label of a NodePool": (
        [
            Made(RELEASE, "r", _RELEASE),
            Made(CONFIG_MAP, "m", _config_map()),
            Made(
                NODE_POOL,
                "p",
                {"spec": {"template": {"metadata": {"labels": {LABEL: "none"}}}}},
            ),
        ],
        [
            Made(RELEASE, "r", _RELEASE),
            Made(CONFIG_MAP, "m", _config_map()),
            Made(
                NODE_POOL,
                "p",
                {"spec": {"template": {"metadata": {"labels": {LABEL: "shared"}}}}},
            ),
        ],
    ),
    "a key in binaryData": (
        [
            Made(RELEASE, "r", _RELEASE),
            Made(CONFIG_MAP, "m", _config_map(data=None, binaryData={"x": _coded(_plain(FEW))})),
            _nodes(labels={LABEL: "shared"}),
        ],
        [
            Made(RELEASE, "r", _RELEASE),
            Made(
                CONFIG_MAP, "m", _config_map(data=None, binaryData={"shared": _coded(_plain(FEW))})
            ),
            _nodes(labels={LABEL: "shared"}),
        ],
    ),
    "a chart of version 4": (
        [Made(CHART, "r", _RELEASE)],
        [Made(CHART, "r", _RELEASE), Made(CONFIG_MAP, "m", _config_map())],
    ),
}


@pytest.mark.parametrize("spelling", CONFIGS)
def test_a_configuration_is_looked_for_where_the_plugin_finds_it(
    spelling: str, judged: Callable[..., list[str]]
) -> None:
    wrong, right = CONFIGS[spelling]

    assert len(judged("sharing-config-exists", wrong)) == 1
    assert judged("sharing-config-exists", right) == []


def test_a_configuration_of_a_part_is_named_where_it_stands(
    tmp_path: Path, judged: Callable[..., list[str]]
) -> None:
    chart = _chart_folder(tmp_path / "platform", _umbrella(alias="plugin"))
    values = {"plugin": {"config": {"name": "sharing"}}}
    made = [Made(RELEASE, "r", {"chart": chart, "namespace": "gpu", "values": values})]

    (message,) = judged("sharing-config-exists", made)
    assert message.endswith("or correct `values.plugin.config.name`.")


def test_two_providers_of_one_cluster_are_one_cluster(judged: Callable[..., list[str]]) -> None:
    compact = {"kubeconfig": "clusters:\n- cluster:\n    server: https://one.example\n"}
    made = [
        Made(RELEASE, "r", _RELEASE, ONE),
        Made(CONFIG_MAP, "m", _config_map(), {"provider": compact}),
    ]

    assert judged("sharing-config-exists", made) == []


# --- rights ------------------------------------------------------------------------------------

JANE = {"kind": "User", "name": "jane"}
APP = {"kind": "ServiceAccount", "name": "app", "namespace": "team"}
ADMIN = {"kind": "ClusterRole", "name": "cluster-admin"}
VIEW = {"kind": "ClusterRole", "name": "view"}
RIGHTS: dict[str, tuple[str, str, Any, Callable[[Any], dict[str, Any]]]] = {
    "a ClusterRoleBinding": ("no-human-in-masters", CLUSTER_BINDING, JANE, dict),
    "a RoleBinding": ("no-human-in-masters", BINDING, JANE, dict),
    "a patch": ("no-human-in-masters", f"{CLUSTER_BINDING}Patch", JANE, dict),
    "a list": ("no-human-in-masters", f"{CLUSTER_BINDING}List", JANE, lambda b: {"items": [b]}),
    "a list of any kind": (
        "no-human-in-masters",
        LIST,
        JANE,
        lambda b: {
            "items": [
                {
                    "apiVersion": "rbac.authorization.k8s.io/v1",
                    "kind": "ClusterRoleBinding",
                    **b,
                }
            ]
        },
    ),
    "another version": (
        "no-human-in-masters",
        CLUSTER_BINDING.replace("/v1", "/v1beta1"),
        JANE,
        dict,
    ),
    "everybody": (
        "no-human-in-masters",
        BINDING,
        {"kind": "Group", "name": "system:authenticated"},
        dict,
    ),
    "nobody by name": (
        "no-human-in-masters",
        BINDING,
        {"kind": "User", "name": "system:anonymous"},
        dict,
    ),
    "a service account": ("service-accounts-not-admin", BINDING, APP, dict),
    "all service accounts": (
        "service-accounts-not-admin",
        CLUSTER_BINDING,
        {"kind": "Group", "name": "system:serviceaccounts:team"},
        dict,
    ),
    "a service account in a list": (
        "service-accounts-not-admin",
        f"{BINDING}List",
        APP,
        lambda b: {"items": [b]},
    ),
}


@pytest.mark.parametrize("spelling", RIGHTS)
def test_rights_are_seen_in_whatever_gives_them(
    spelling: str, judged: Callable[..., list[str]]
) -> None:
    rule, token, subject, wrapped = RIGHTS[spelling]
    for role, expected in ((ADMIN, 1), (VIEW, 0)):
        props = wrapped({"roleRef": role, "subjects": [subject]})
        assert len(judged(rule, [Made(token, "binding", props)])) == expected


# --- workloads ---------------------------------------------------------------------------------


def _pod(resource: str, **container: Any) -> dict[str, Any]:
    limits = {"resources": {"limits": {resource: "1"}}}
    return {
        "containers": [{"name": "app", "image": "app:1.0", **limits, **container}],
        "tolerations": ANY,
    }


MAKERS: dict[str, tuple[str, Callable[[dict[str, Any]], dict[str, Any]]]] = {
    "a Pod": ("core/v1:Pod", lambda pod: {"spec": pod}),
    "a Deployment": ("apps/v1:Deployment", lambda pod: {"spec": {"template": {"spec": pod}}}),
    "a StatefulSet": ("apps/v1:StatefulSet", lambda pod: {"spec": {"template": {"spec": pod}}}),
    "a ReplicaSet": ("apps/v1:ReplicaSet", lambda pod: {"spec": {"template": {"spec": pod}}}),
    "a Job": ("batch/v1:Job", lambda pod: {"spec": {"template": {"spec": pod}}}),
    "a CronJob": (
        "batch/v1:CronJob",
        lambda pod: {"spec": {"jobTemplate": {"spec": {"template": {"spec": pod}}}}},
    ),
    "a list": (
        "apps/v1:DeploymentList",
        lambda pod: {"items": [{"spec": {"template": {"spec": pod}}}]},
    ),
    "a RayCluster": (
        "ray.io/v1:RayCluster",
        lambda pod: {"spec": {"workerGroupSpecs": [{"template": {"spec": pod}}]}},
    ),
    "a Notebook": ("kubeflow.org/v1:Notebook", lambda pod: {"spec": {"template": {"spec": pod}}}),
}


@pytest.mark.parametrize("spelling", MAKERS)
def test_what_pods_ask_for_is_seen_whatever_makes_them(
    spelling: str, judged: Callable[..., list[str]]
) -> None:
    token, make = MAKERS[spelling]
    plugin = Made(
        RELEASE, "plugin", {"chart": "nvidia-device-plugin", "values": {"tolerations": ANY}}
    )
    for resource, expected in (("nvidia.com/gpu.shared", 1), ("nvidia.com/gpu", 0)):
        props = {"metadata": {"name": "app"}, **make(_pod(resource))}
        made = [CLUSTER, _nodes(), plugin, Made(f"kubernetes:{token}", "app", props)]
        assert len(judged("workloads-can-land", made)) == expected


PRIVILEGED: dict[str, Callable[[bool], dict[str, Any]]] = {
    "a container": lambda on: {"containers": [_container(on)]},
    "an init container": lambda on: {"containers": [], "initContainers": [_container(on)]},
    "an ephemeral container": lambda on: {
        "containers": [],
        "ephemeralContainers": [_container(on)],
    },
    "the second container": lambda on: {"containers": [_container(""), _container(on)]},
    "an init container that stays": lambda on: {
        "initContainers": [{**_container(on), "restartPolicy": "Always"}]
    },
}


def _container(privileged: object) -> dict[str, Any]:
    return {"name": "c", "image": "c:1.0", "securityContext": {"privileged": privileged}}


@pytest.mark.parametrize("spelling", PRIVILEGED)
def test_every_container_of_a_pod_is_looked_at(
    spelling: str, judged: Callable[..., list[str]]
) -> None:
    for on, expected in ((True, 1), (False, 0)):
        made = [Made("kubernetes:core/v1:Pod", "p", {"spec": PRIVILEGED[spelling](on)})]
        assert len(judged("pods-not-privileged", made)) == expected


def test_there_are_as_many_spellings_as_were_asked_for() -> None:
    tables: tuple[Sized, ...] = (
        *(DOCUMENTS, UNREAD, HOLDERS, CHARTS, LOCAL),
        *(NODES, CONFIGS, RIGHTS, MAKERS, PRIVILEGED),
    )

    assert sum(map(len, tables)) >= 90
