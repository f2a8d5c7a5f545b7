"""Tables of the documentation that have to keep up with the code."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import make_pages
import nodes_launched
import pytest
from tests.unit.test_house_rules import COMPONENTS, LAYERS, PURE

import eks_gpushare
from eks_gpushare.catalog import ami_release, eks_versions
from eks_gpushare.cli import _MODULES, _VERBS
from eks_gpushare.cli.verbs import added_verbs
from eks_gpushare.config.schema import environment_schema
from eks_gpushare.program.run import run_program
from eks_gpushare.rules import edit_rules
from eks_gpushare.sharing.karpenter.purchase import bought

if TYPE_CHECKING:
    from eks_gpushare.args import Sharing, TenantQuota, Workload
    from eks_gpushare.args.autoscaling import Window

ROOT = Path(__file__).parents[2]
QUEUE = "arn:aws:sqs:us-west-2:111122223333:jobs"
WINDOW: Window = {"start": "0 8 * * 1-5", "end": "0 18 * * 1-5"}
WORKSPACE = "arn:aws:aps:us-west-2:111122223333:workspace/ws-1a2b"
POLICY = "arn:aws:iam::aws:policy/POLICY"
_RELEASE = re.compile(r"\d\.\d+\.\d+-(\d{8})")


def documented_keys() -> set[str]:
    page = (ROOT / "docs" / "upgrades.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.*?) \|", page, re.MULTILINE)
    return {key for row in rows for key in re.findall(r"`([^`]+)`", row)}


def keys_of_a_stack_file() -> set[str]:
    """Keys of the environment to the depth at which the table of edits speaks of them."""
    schema = environment_schema()
    definitions = schema["$defs"]
    found = set()
    for key, part in schema["properties"].items():
        models = [definitions[name] for name in re.findall(r"#/\$defs/(\w+)", json.dumps(part))]
        if key in {"pools", "workloads", "tenants"}:
            (model,) = models
            found |= {f"{key}.*.{name}" for name in model["properties"]}
        elif models:
            found |= {f"{key}.{name}" for model in models for name in model["properties"]}
        else:
            found.add(key)
    return found


def test_every_key_of_a_stack_file_stands_in_the_table_of_edits() -> None:
    extra = {"aws:region", "pools.<name>", "pools.<name>, the name itself"}

    assert documented_keys() - extra == keys_of_a_stack_file()


def test_what_is_refused_of_an_edit_stands_at_its_key() -> None:
    page = (ROOT / "docs" / "upgrades.md").read_text(encoding="utf-8")
    named = set(re.findall(r"\[(GPU8[1-9]\d|GPU77[59]|GPU993)\]\(findings/", page))

    assert named == {rule.id for rule in edit_rules()}


def children_in_the_table() -> set[tuple[str, str]]:
    page = (ROOT / "docs" / "components.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| [\w, ]*\| (`NAME.*?) \| `(.*?)` \|", page, re.MULTILINE)
    return {(name, kind) for names, kind in rows for name in re.findall(r"`(.*?)`", names)}


def everything() -> None:
    """Make every component with every option that adds a child."""
    import pulumi
    from pulumi_kubernetes import Provider

    from eks_gpushare import EksCluster, GpuOperator, GpuSharingEnvironment, Kueue

    GpuSharingEnvironment(
        "NAME",
        {
            "region": "us-west-2",
            "cluster": {
                "name": "all",
                "version": newest(),
                "admins": ["arn:aws:iam::111122223333:role/PRINCIPAL"],
                "log_retention_days": 90,
                "addons": {
                    "ebs_csi": True,
                    "by_name": {"adot": {"pod_identity": {"ACCOUNT": {"policy_arns": [POLICY]}}}},
                },
            },
            "network": {"zones": ["us-west-2a", "us-west-2b"], "flow_logs": True},
            "pools": {
                "pool": {
                    "instance_types": ["p4d.24xlarge"],
                    "zones": ["us-west-2a"],
                    "efa": True,
                    "placement_group": True,
                    "scaled_by": "autoscaler",
                    "sharing": {"mode": "exclusive"},
                    "warm": {"shares": 1, "nodes": 1, "schedule": [WINDOW]},
                }
            },
            "cluster_autoscaler": {"namespace": "scaling"},
            "keda": {"prometheus": {"workspace_arn": WORKSPACE}},
            "verifier": {"image": "registry.example.com/verify:0.1.0", "interval_seconds": 60},
            "observability": {"prometheus": {"install": True}},
            "tenants": {
                "team": {
                    "namespaces": ["space"],
                    "pools": {"pool": {"guaranteed": {"shares": 1}}},
                    "admins": ["arn:aws:iam::111122223333:role/Team"],
                    "queue": True,
                }
            },
            "workloads": {
                "chat": {
                    **of_a_workload("low"),
                    "port": 80,
                    "auto_stop": True,
                    "wake": {"query": "requests_waiting"},
                    "disruption_budget": {"max_unavailable": 1},
                },
                "chat-2": {
                    **of_a_workload("high"),
                    "auto_stop": True,
                    "wake": {"queue": QUEUE},
                },
            },
        },
    )
    GpuSharingEnvironment(
        "karpenter",
        {
            "region": "us-west-2",
            "cluster": {"name": "scaled", "version": newest()},
            "network": {"zones": ["us-west-2a", "us-west-2b"]},
            "karpenter": {"namespace": "karpenter"},
            "observability": {"metrics": "managedPrometheus", "prometheus": {"install": True}},
            "verifier": {"image": "registry.example.com/verify:0.1.0"},
            "catalog": {"instance_types": {"p5e.48xlarge": {"price_usd_per_hour": 60.0}}},
            "pools": {
                "pool": {
                    "provisioner": "karpenter",
                    "instance_types": ["p5e.48xlarge"],
                    "nodes": {"max": 2},
                    "zones": ["us-west-2a"],
                    "efa": True,
                    "placement_group": True,
                    "sharing": {"mode": "timeSlicing", "replicas": 2},
                }
            },
        },
    )
    for manager in ("devicePlugin", "gpuOperator"):
        GpuSharingEnvironment(
            manager,
            {
                "cluster": {"existing": {"kubeconfig": manager}},
                "kubeconfig": "{}",
                "gpu_stack": {"manager": manager},
                "pools": {
                    "pool": {
                        "provisioner": "existing",
                        "instance_types": ["g6.xlarge"],
                        "sharing": {"mode": "timeSlicing", "replicas": 2},
                    }
                },
            },
        )
    EksCluster(
        "alone",
        {
            "name": "alone",
            "version": newest(),
            "vpc_id": "vpc-0a1b2c3d",
            "private_subnet_ids": ["subnet-0ac4e7f91d2b60358", "subnet-0bc4e7f91d2b60358"],
        },
    )
    layout: Sharing = {"mode": "mig", "layout": "all-1g.5gb", "apply": "migManager"}
    GpuOperator(
        "mig",
        {"pools": {"a": {"instance_types": ["p4d.24xlarge"], "sharing": layout}}},
        pulumi.ResourceOptions(provider=Provider("cluster", kubeconfig="{}")),
    )
    gpu = "nvidia.com/gpu"
    quota: TenantQuota = {"guaranteed": {gpu: 1}}
    Kueue(
        "queues",
        {
            "pools": {"a-pool": {"node_selector": {"pool": "a"}, "advertised": {gpu: 2}}},
            "tenants": {"a-tenant": {"namespaces": ["a-namespace"], "pools": {"a-pool": quota}}},
        },
        pulumi.ResourceOptions(provider=Provider("queued", kubeconfig="{}")),
    )


def of_a_workload(priority: str) -> Workload:
    return {"pool": "pool", "image": "chat:1", "namespace": "models", "priority": priority}


def newest() -> str:
    return list(eks_versions())[-1]


def test_the_table_of_children_is_complete() -> None:
    """Logical names are public: one that changes here is a change for every user's state."""
    recording = run_program(everything, project="p", stack="s", config={"aws:region": "us-west-2"})
    names = {each.urn: each.name for each in recording.resources}
    types = {each.urn: each.type for each in recording.resources}
    made = {
        (placeholders(child_name(each.name, names[each.parent])), each.type)
        for each in recording.resources
        if types.get(each.parent, "").startswith("eks-gpushare:")
    }

    assert recording.error is None, recording.error
    assert made == children_in_the_table()


def placeholders(name: str) -> str:
    found = (
        re.sub(r"us-west-2[a-z]", "ZONE", name)
        .replace("adot", "ADDON")
        .replace("p5e.48xlarge", "TYPE")
    )
    found = re.sub(r"-team(-|$)", r"-TENANT\1", found).replace("-admin-Team", "-admin-PRINCIPAL")
    found = found.replace("-space-", "-NAMESPACE-")
    found = found.replace("-flavor-pool", "-flavor-POOL")
    found = re.sub(r"-workload-chat(-2)?$", "-workload-WORKLOAD", found)
    found = re.sub(r"-a-(pool|tenant|namespace)", lambda match: f"-{match[1].upper()}", found)
    return found.replace("-namespace-models", "-namespace-NAMESPACE").replace(
        "-warm-room-pool-", "-warm-room-POOL-"
    )


def child_name(name: str, parent: str) -> str:
    rest = name.removeprefix(parent)
    rest = rest.replace("111122223333-role/", "")
    return "NAME-POOL" if rest == "-pool" else f"NAME{rest}"


def test_no_page_pins_a_release_of_the_future() -> None:
    """Release versions in the documentation are ones that exist: the catalog has the newest."""
    newest_known = max((ami_release("al2023", version) or "")[-8:] for version in eks_versions())
    named = {
        date
        for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
        if page.name != "0014-differences.md" and not make_pages.is_generated(page)
        for date in _RELEASE.findall(page.read_text(encoding="utf-8"))
    }

    assert {date for date in named if date > newest_known} == set()


def rows(page: str, heading: str) -> list[list[str]]:
    """Cells of the table under a row of headings."""
    text = (ROOT / page).read_text(encoding="utf-8").partition(heading)[2]
    lines = text.partition("\n\n")[0].splitlines()[2:]
    return [re.split(r"(?<!\\) ?\| ?", line.strip("|").strip()) for line in lines]


@pytest.mark.parametrize(
    ("page", "heading"),
    [
        ("docs/how-it-works.md", "| part | holds | imports Pulumi |"),
        ("CONTRIBUTING.md", "| room | holds |"),
    ],
)
def test_the_rooms_stand_in_the_order_in_which_they_may_import(page: str, heading: str) -> None:
    rooms = {
        room: number for number, layer in enumerate(LAYERS) for room in layer if layer != COMPONENTS
    }
    told = [room for cells in rows(page, heading) for room in re.findall(r"`([a-z_]+)`", cells[0])]

    assert sorted(told) == sorted(rooms)
    assert [rooms[each] for each in told] == sorted(rooms.values())


def test_what_imports_pulumi_is_told() -> None:
    table = rows("docs/how-it-works.md", "| part | holds | imports Pulumi |")
    without = {
        room for cells in table for room in re.findall(r"`(\w+)`", cells[0]) if cells[2] == "no"
    }

    assert without == set(PURE)


def test_the_page_of_commands_has_every_verb() -> None:
    told = [
        re.findall(r"`([\w-]+)", cells[0])[0]
        for cells in rows("docs/commands.md", "| verb | does | needs |")
    ]

    assert sorted(told) == sorted([*_VERBS, *(each.NAME for each in added_verbs())])


def test_the_verbs_of_the_checks_are_told() -> None:
    (row,) = [
        cells
        for cells in rows("docs/install.md", "| install | brings | for |")
        if cells[0] == "`eks-gpushare-checks`"
    ]

    assert set(re.findall(r"`([\w-]+)`", row[1])) == set(_VERBS) - set(_MODULES)


def test_readme_names_every_component() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    named = text.partition("**Components in your own Pulumi program.** ")[2].partition("each work")[
        0
    ]
    words = {
        "ClusterAutoscaler": "Cluster Autoscaler",
        "DevicePlugin": "device plugin",
        "EfaDevicePlugin": "EFA device plugin",
        "EksCluster": "cluster",
        "GpuMetrics": "GPU metrics",
        "GpuOperator": "GPU Operator",
        "GpuPool": "GPU pool",
        "GpuSharingEnvironment": "environment",
        "Karpenter": "Karpenter",
        "KarpenterPool": "and its pools",
        "Keda": "KEDA",
        "Kueue": "Kueue",
        "Network": "Network",
        "ShareVerifier": "share verifier",
        "SharedWorkload": "shared workloads",
        "SystemNodes": "system nodes",
        "Tenants": "tenants",
    }
    components = {
        each.removesuffix("Args") for each in eks_gpushare.__all__ if each.endswith("Args")
    }

    assert set(words) == components
    assert [word for word in words.values() if word not in " ".join(named.split())] == []


def test_what_karpenter_launched_is_what_it_would_launch_at_the_prices_of_today() -> None:
    """Prices of the catalog change; what the lab saw is then to be seen anew."""
    for case in nodes_launched.chosen():
        prices = {name: nodes_launched.price(name) for name in case.per_node}

        assert bought(case.per_node, prices, case.pods).nodes == case.launched
