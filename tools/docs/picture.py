"""What lands in AWS and in the cluster, as one SVG picture drawn from a stack's registrations.

The stack is `stacks/Pulumi.prod.yaml`: three zones, two pools, everything on. Names, counts, taints
and add-ons in the picture are those that the program registers, so the picture is out of date when
they are, and a test says so.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.sax.saxutils import escape

import yaml

from eks_gpushare.catalog import versions
from eks_gpushare.cli.mig_svg import in_dark
from eks_gpushare.program.run import run_program
from eks_gpushare.program.stack_config import read_stack_config
from eks_gpushare.program.values import to_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.program.recording import Resource

ROOT = Path(__file__).parents[2]
STACK = ROOT / "stacks" / "Pulumi.prod.yaml"
FILE = ROOT / "docs" / "images" / "what-lands.svg"

WIDTH = 960
FILLS = {
    "page": "#ffffff",
    "aws": "#f6f7f9",
    "vpc": "#eef4fb",
    "public": "#e3f1e5",
    "private": "#dcebf7",
    "system": "#ececf1",
    "gpu": "#fae3a5",
    "cluster": "#f3eef9",
    "inside": "#e3d9f2",
    "part": "#fffffe",
}
"""Light enough for dark text, and told apart by their titles as well as by hue."""
DARK_FILLS = {
    "page": "#12161d",
    "aws": "#1a202a",
    "vpc": "#16263a",
    "public": "#1c3524",
    "private": "#123246",
    "system": "#2b2d38",
    "gpu": "#4a3a0c",
    "cluster": "#271f35",
    "inside": "#3a2f55",
    "part": "#0f131a",
}
"""The same where pages are dark."""
TEXT, DARK_TEXT = "#1c2330", "#e8ebf1"
STYLE = f"""text {{ font-family: system-ui, -apple-system, "Segoe UI", Roboto, Helvetica, Arial,
  sans-serif; fill: {TEXT}; font-size: 13px; }}
.title {{ font-size: 20px; font-weight: 600; }}
.head {{ font-size: 15px; font-weight: 600; }}
rect {{ stroke: #7a8698; stroke-width: 1; }}
rect.page {{ stroke: none; }}
{
    in_dark(
        {FILLS[kind]: DARK_FILLS[kind] for kind in FILLS},
        f"text {{ fill: {DARK_TEXT}; }}",
    )
}"""
LINE = 19
"""From one line of text to the next."""


class Box(NamedTuple):
    """A rectangle with lines of text in it, the first of which is its title unless it has none."""

    kind: str
    x: int
    y: int
    width: int
    height: int
    lines: Sequence[str] = ()
    titled: bool = True


@cache
def boxes() -> tuple[Box, ...]:
    """What is in the picture, in the order in which it is drawn."""
    return tuple(_boxes(_Facts.of_stack()))


def draw() -> str:
    """The picture as text."""
    height = max(box.y + box.height for box in boxes()) + 20
    title = "What the stack prod makes in AWS and in its cluster"
    size = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="title">',
        f'<title id="title">{title}</title>',
        f"<style>{STYLE}</style>",
        f'<rect class="page" width="{WIDTH}" height="{height}" rx="8" fill="{FILLS["page"]}"/>',
        _text(20, 34, "title", title),
    ]
    for box in boxes():
        lines += _drawn(box)
    return "\n".join([*lines, "</svg>", ""])


class _Facts(NamedTuple):
    """What the picture says of the stack."""

    resources: Sequence[Resource]
    pools: dict[str, Any]

    @classmethod
    def of_stack(cls) -> _Facts:
        config = read_stack_config(STACK).values
        recording = run_program(ROOT, project="eks-gpushare", stack="prod", config=config)
        if recording.error is not None:
            raise RuntimeError(f"{STACK.name}: {recording.error}")
        (environment,) = recording.of_type("eks-gpushare:index:GpuSharingEnvironment")
        return cls(recording.resources, to_json(environment.outputs["pools"]))

    def of(self, kind: str) -> list[Resource]:
        """Resources by the last part of their type."""
        return [each for each in self.resources if each.type.rpartition(":")[2] == kind]

    def inputs(self, kind: str, name_ends: str = "") -> dict[str, Any]:
        """Inputs of the only resource of a type, or the one whose name ends so."""
        (found,) = (each for each in self.of(kind) if each.name.endswith(name_ends))
        inputs: dict[str, Any] = to_json(found.inputs)
        return inputs

    def addons(self) -> set[str]:
        """Names of add-ons as EKS has them."""
        return {str(to_json(each.inputs)["addonName"]) for each in self.of("Addon")}


def _boxes(facts: _Facts) -> Iterator[Box]:
    zones = sorted(to_json(each.inputs)["availabilityZone"] for each in facts.of("Subnet"))
    zones = list(dict.fromkeys(zones))
    region = zones[0][:-1]
    yield Box("aws", 20, 52, 920, 470, [f"AWS account, {region}"])
    yield from _around(facts)
    yield from _vpc(facts, zones)
    yield from _cluster(facts)


def _around(facts: _Facts) -> Iterator[Box]:
    """What is in the account beside the network."""
    cluster = facts.inputs("Cluster", "eksCluster")
    config = cluster["vpcConfig"]
    reached = [
        name
        for name, key in (("private", "endpointPrivateAccess"), ("public", "endpointPublicAccess"))
        if config[key]
    ]
    group = facts.inputs("LogGroup", "cluster-logs")
    roles = Counter(each.type for each in facts.resources)["aws:iam/role:Role"]
    entries = len(facts.of("AccessEntry"))
    yield Box(
        "part",
        36,
        84,
        240,
        140,
        [
            "EKS control plane",
            f"{cluster['name']}, version {cluster['version']}",
            f"endpoint: {', '.join(reached)}",
            f"access entries: {entries} admins",
            f"support: {cluster['upgradePolicy']['supportType'].lower()}",
            "deletion protection: " + ("on" if cluster["deletionProtection"] else "off"),
        ],
    )
    rotates = facts.inputs("Key")["enableKeyRotation"]
    yield Box(
        "part",
        36,
        236,
        240,
        64,
        ["KMS key", "for secrets" + (", rotated yearly" if rotates else "")],
    )
    types = len(cluster["enabledClusterLogTypes"])
    flow = facts.inputs("FlowLog")["trafficType"].lower()
    yield Box(
        "part",
        36,
        312,
        240,
        83,
        [
            "CloudWatch Logs",
            f"control plane: {types} types, {group['retentionInDays']} days",
            f"VPC flow logs: {flow}ed traffic",
        ],
    )
    yield Box(
        "part",
        36,
        407,
        240,
        102,
        [
            f"IAM: {roles} roles",
            "control plane, each node group,",
            "each add-on that needs one,",
            "flow logs",
        ],
    )


def _vpc(facts: _Facts, zones: list[str]) -> Iterator[Box]:
    vpc = facts.inputs("Vpc")
    yield Box("vpc", 290, 84, 634, 425, [f"VPC {vpc['cidrBlock']}"])
    yield Box("part", 476, 92, 140, 30, ["internet gateway"], titled=False)
    yield Box("part", 622, 92, 286, 30, ["S3 endpoint: image layers pass no NAT"], titled=False)
    each = 610 // len(zones)
    nats = {name.name.rpartition("nat-")[2] for name in facts.of("NatGateway")}
    for number, zone in enumerate(zones):
        x = 304 + number * each
        nat = ["NAT gateway"] if zone in nats else []
        yield Box("public", x, 132, each - 6, 66, [f"public subnet, {zone[-2:]}", *nat])
        yield Box("private", x, 206, each - 6, 292, [f"private subnet, {zone[-2:]}"])
    groups = [to_json(each.inputs) | {"_": each.name} for each in facts.of("NodeGroup")]
    for number, group in enumerate(groups):
        pool = group["_"].removeprefix("gpushare-")
        at, span = _columns(facts, group, pool, zones)
        lines = _group(facts, group, pool)
        top = 234 + (0, 70, 168)[number]
        yield Box(
            "gpu" if pool in facts.pools else "system",
            304 + at * each + 6,
            top,
            each * span - 18,
            62 if number == 0 else 90,
            lines,
        )


def _columns(facts: _Facts, group: dict[str, Any], pool: str, zones: list[str]) -> tuple[int, int]:
    """In which zones the group is: the first, and how many."""
    environment = yaml.safe_load(STACK.read_text(encoding="utf-8"))["config"]
    declared = environment["eks-gpushare:environment"]
    named = declared["pools"][pool]["zones"] if pool in facts.pools else declared["system"]["zones"]
    if len(named) != len(group["subnetIds"]):
        raise RuntimeError(f"{pool}: {len(named)} zones, {len(group['subnetIds'])} subnets")
    return zones.index(named[0]), len(named)


def _group(facts: _Facts, group: dict[str, Any], pool: str) -> list[str]:
    size = group["scalingConfig"]
    nodes = f"{size['minSize']} to {size['maxSize']} x {group['instanceTypes'][0]}"
    if pool not in facts.pools:
        return [f"node group {pool}", f"{nodes}: for everything that needs no GPU"]
    plan = facts.pools[pool]
    ((resource, count),) = plan["perNode"][group["instanceTypes"][0]].items()
    keys = [taint["key"] for taint in group["taints"]]
    if len(group["subnetIds"]) == 1:
        return [f"pool {pool}", nodes, f"{count} x {resource}", f"taints: {len(keys)}"]
    taints = ", ".join(f"{each['key']}={each['value']}" for each in group["taints"])
    return [
        f"pool {pool}",
        f"{nodes}, {_hardened(facts)}",
        f"each advertises {count} x {resource}",
        f"taint: {taints}",
    ]


def _hardened(facts: _Facts) -> str:
    """What holds for every node."""
    for each in facts.of("LaunchTemplate"):
        template = to_json(each.inputs)
        volumes = [volume["ebs"]["encrypted"] for volume in template["blockDeviceMappings"]]
        if set(volumes) != {"true"} or template["metadataOptions"]["httpTokens"] != "required":
            raise RuntimeError(f"{each.name} is not what the picture says")
    return "encrypted disks, IMDSv2 only"


def _cluster(facts: _Facts) -> Iterator[Box]:
    config = facts.inputs("ConfigMap")
    release = facts.inputs("Release")
    namespace = config["metadata"]["namespace"]
    addons = facts.addons()
    agents = [
        title
        for name, title in (
            ("vpc-cni", "VPC CNI"),
            ("kube-proxy", "kube-proxy"),
            ("eks-pod-identity-agent", "Pod Identity agent"),
            ("eks-node-monitoring-agent", "node monitoring agent"),
        )
        if name in addons
    ]
    deployed = [
        title
        for name, title in (("coredns", "CoreDNS"), ("aws-ebs-csi-driver", "EBS CSI controller"))
        if name in addons
    ]
    pools = ", ".join(sorted(facts.pools))
    yield Box("cluster", 20, 538, 920, 232, [f"In the cluster, Kubernetes {_version(facts)}"])
    yield Box(
        "part",
        36,
        572,
        240,
        184,
        [
            "EKS add-ons, pinned",
            "on every node:",
            *(f"  {each}" for each in agents),
            "on system nodes:",
            *(f"  {each}" for each in deployed),
        ],
    )
    yield Box(
        "inside", 290, 572, 634, 184, [f"namespace {namespace}: Helm release {release['name']}"]
    )
    yield Box(
        "part",
        304,
        602,
        292,
        140,
        [
            "ConfigMap, immutable",
            f"a key per pool: {pools}",
            "how often each GPU is shared, and",
            "under which name. A node's label",
            "nvidia.com/device-plugin.config",
            "names its key",
        ],
    )
    yield Box(
        "part",
        608,
        602,
        302,
        140,
        [
            "DaemonSets, on pools only",
            f"device plugin {release['version']}",
            "GPU feature discovery",
            "node feature discovery's worker",
            "all tolerate every taint of every pool;",
            "the MPS daemon on pools with mode: mps",
        ],
    )


def _version(facts: _Facts) -> str:
    if facts.inputs("Release")["version"] != versions.DEVICE_PLUGIN.version:
        raise RuntimeError("the picture is of the pinned chart")
    return str(facts.inputs("Cluster", "eksCluster")["version"])


def _drawn(box: Box) -> Iterator[str]:
    yield (
        f'<rect x="{box.x}" y="{box.y}" width="{box.width}" height="{box.height}" rx="6" '
        f'fill="{FILLS[box.kind]}"/>'
    )
    for number, line in enumerate(box.lines):
        kind = "head" if number == 0 and box.titled else ""
        indent = 12 if line.startswith("  ") else 0
        yield _text(box.x + 12 + indent, box.y + 21 + number * LINE, kind, line.strip())


def _text(x: int, y: int, kind: str, text: str) -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{x}" y="{y}">{escape(text)}</text>'
