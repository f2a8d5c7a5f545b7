"""What a stack tells to whatever looks at its cluster: enough, and nothing else."""

from __future__ import annotations

import copy
import json
import random
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pytest
from tests.conftest import sampled
from tests.unit.fuzzed_stack_files import stack_environments

from eks_gpushare.config.base import Model
from eks_gpushare.config.environment import Environment
from eks_gpushare.config.pools import CustomAmi, Reservation
from eks_gpushare.config.project import ENVIRONMENT_KEY
from eks_gpushare.findings.finding import Position
from eks_gpushare.inventory.items import ConfigMap, NodeSet, Release
from eks_gpushare.inventory.source import Source
from eks_gpushare.lint.stack_side import Stack, read_stack
from eks_gpushare.live.declared import declared_side, undeclared
from eks_gpushare.live.drift import chart_drift
from eks_gpushare.live.objects import ClusterObjects
from eks_gpushare.manifests.document import Document
from eks_gpushare.stack_file.check import check_stack_file
from eks_gpushare.stack_file.file import stack_file_of

ROOT = Path(__file__).parents[2]
STACKS = sorted((ROOT / "stacks").glob("Pulumi.*.yaml"))
ABOUT_WHAT_IS_NOT_TOLD = {"GPU613", "GPU333", "GPU845", "GPU619"}
"""Who is admin, how the API server is reached, what follows its use, and subnets: no errors."""
REGION = "us-west-2"
NOWHERE = Source("", Document("", None, lambda _: Position(1, 1)), ())


def stack_of(folder: Path, environment: Any, region: str | None = REGION) -> Stack:
    file = folder / "Pulumi.stack.yaml"
    around = {} if region is None else {"aws:region": region}
    file.write_text(json.dumps({"config": {**around, ENVIRONMENT_KEY: environment}}))
    return read_stack(file)


def told_of(folder: Path, own: Stack) -> Stack:
    """What is read of the text that is told of a stack."""
    assert own.environment is not None
    file = folder / "told.yaml"
    file.write_text(json.dumps(declared_side(own.environment, own.region), indent=2))
    return read_stack(file)


def side(stack: Stack) -> dict[str, Any]:
    """What a cluster is compared with."""
    return {
        name: (
            {key: value for key, value in plan.as_json().items() if key != "usdPerHour"},
            dict(plan.labels),
            plan.taints,
            plan.scaling,
            plan.pool.ami_version,
            plan.pool.sharing,
        )
        for name, plan in stack.plans.items()
    }


def charts(stack: Stack) -> list[tuple[str, str]]:
    releases = (item for item in stack.items if isinstance(item, Release))
    return [(release.chart, str(release.version)) for release in releases]


def objects(stack: Stack) -> list[Any]:
    """Its nodes and ConfigMaps whole, of all else what it is."""
    return [
        replace(item, source=NOWHERE) if isinstance(item, NodeSet | ConfigMap) else type(item)
        for item in stack.items
    ]


def assert_the_same(folder: Path, own: Stack) -> None:
    told = told_of(folder, own)

    assert told.errors == ()
    assert side(told) == side(own)
    assert charts(told) == charts(own)
    assert objects(told) == objects(own)


@pytest.mark.parametrize("file", STACKS, ids=lambda file: file.name.split(".")[1])
def test_every_stack_is_told_as_it_is(file: Path, tmp_path: Path) -> None:
    own = read_stack(file)

    assert own.errors == ()
    assert_the_same(tmp_path, own)


def test_what_is_told_has_no_finding_that_the_stack_has_not() -> None:
    for file in STACKS:
        own = read_stack(file)
        assert own.environment is not None
        text = json.dumps(declared_side(own.environment, own.region))
        told = check_stack_file(stack_file_of(text, "told")).findings
        before = {
            finding.code
            for finding in check_stack_file(
                stack_file_of(file.read_text(encoding="utf-8"), file.name)
            ).findings
        }
        assert {finding.code for finding in told} - before <= ABOUT_WHAT_IS_NOT_TOLD, file.name


SECRET = "hush"  # noqa: S105  (a word)
FREE_TEXTS = {
    # Seen by whoever may see nodes, namespaces and queues.
    *("cluster.name", "cluster.version", "cluster.existing.name", "gpuStack.namespace"),
    *("pools.*", "pools.*.labels.*", "pools.*.taints.key", "pools.*.taints.value"),
    *("pools.*.instanceTypes", "pools.*.amiVersion", "pools.*.zones", "pools.*.customAmi.id"),
    *("pools.*.reservation.id", "pools.*.sharing.layout", "pools.*.sharing.layout.*"),
    *("pools.*.sharing.layout.devices.*", "pools.*.karpenter.limits.*"),
    *("pools.*.karpenter.startupTaints.key", "pools.*.karpenter.startupTaints.value"),
    *("pools.*.warm.schedule.start", "pools.*.warm.schedule.end", "pools.*.warm.schedule.timeZone"),
    *("network.zones", "tenants.*", "tenants.*.namespaces", "tenants.*.pools.*"),
    "tenants.*.existingNamespaces",
    *("tenants.*.pools.*.guaranteed.sharesOf.*", "tenants.*.pools.*.maximum.sharesOf.*"),
    "charts.*.version",
    # Facts of instance types and MIG profiles.
    *("catalog.instanceTypes.*", "catalog.instanceTypes.*.zoneIds"),
    *("catalog.instanceTypes.*.gpu.model", "catalog.instanceTypes.*.gpu.computeCapability"),
    *("catalog.migProfiles.*", "catalog.migProfiles.*.*"),
    *("catalog.migLayouts.*", "catalog.migLayouts.*.*"),
}
"""Keys that may hold any text, and whose text is told; a mapping's own keys end with `.*`."""


def made_of(annotation: Any, pick: random.Random) -> Any:
    """A value of a type in which every text is a secret, as is every key of a mapping."""
    origin, inner = get_origin(annotation), get_args(annotation)
    made: Any = SECRET if annotation in {str, Any} else 1
    if origin is Annotated:
        made = made_of(inner[0], pick)
    elif origin is Literal:
        made = inner[0]
    elif origin in {Union, UnionType}:
        made = made_of(pick.choice([each for each in inner if each is not NoneType]), pick)
    elif origin is tuple:
        made = (made_of(inner[0], pick),)
    elif origin is dict:
        made = {SECRET: made_of(inner[1], pick)}
    elif isinstance(annotation, type) and issubclass(annotation, Model):
        fields = annotation.model_fields
        given = {name: made_of(info.annotation, pick) for name, info in fields.items()}
        made = annotation.model_construct(set(given), **given)
    return made


def places_of(value: Any, at: str = "") -> set[str]:
    """Where texts and keys of a mapping are secrets, charts by one name."""
    if value == SECRET:
        return {at}
    found: set[str] = set()
    for key, inner in value.items() if isinstance(value, dict) else ():
        called = "*" if key == SECRET or at == "charts" else key
        below = f"{at}.{called}".lstrip(".")
        found |= places_of(inner, below) | ({below} if key == SECRET else set())
    for inner in value if isinstance(value, list) else ():
        found |= places_of(inner, at)
    return found


def test_no_free_text_is_told_but_what_anybody_sees_in_the_cluster() -> None:
    """User data, environments and arguments of programs, values of charts: all that is no name."""
    found: set[str] = set()
    for seed in range(60):
        environment = made_of(Environment, random.Random(seed))  # noqa: S311  (nothing secret)
        found |= places_of(declared_side(environment, None)["config"][ENVIRONMENT_KEY])

    assert found == FREE_TEXTS


def test_the_version_of_a_chart_on_disk_is_not_known(tmp_path: Path) -> None:
    given = json.loads((ROOT / "examples" / "verify" / "cluster.json").read_text())["items"]
    daemons = [each for each in given if each["kind"] == "DaemonSet"]
    for each in daemons:
        each["metadata"]["labels"]["helm.sh/chart"] = "nvidia-device-plugin-0.99.0"
    objects = ClusterObjects("a cluster", datetime.now(tz=UTC), {"DaemonSet": tuple(daemons)}, {})
    own = read_stack(ROOT / "stacks" / "Pulumi.time-slicing.yaml")
    assert own.environment is not None
    environment = dump(own.environment)

    assert [fault.finding.code for fault in chart_drift(objects, own)] == ["GPU1331"]
    environment["charts"] = {"devicePlugin": {"path": "charts/nvidia-device-plugin"}}
    local = stack_of(tmp_path, environment)
    assert local.errors == ()
    assert list(chart_drift(objects, local)) == []
    assert list(chart_drift(objects, told_of(tmp_path, local))) == []


def test_a_text_that_declares_nothing_says_why() -> None:
    def said(text: str) -> list[str]:
        return [each.message.partition(" compared with: ")[2] for each in undeclared(text)]

    good = (ROOT / "stacks" / "Pulumi.time-slicing.yaml").read_text(encoding="utf-8")
    assert said(good) == []
    assert [each.code for each in undeclared("config: {}")] == ["GPU860"]
    assert said("config: {}") != []
    (wrong,) = said(good.replace("replicas: 10", "replicas: 1"))
    assert wrong.startswith("pools.gpu.sharing.replicas: ")
    assert all(not each.startswith(": ") for each in said("config: ["))


class Later:
    """A value that is known once something else is made."""


def test_what_is_known_later_is_stood_in_for_or_left_out() -> None:
    environment = made_of(Environment, random.Random(1))  # noqa: S311  (nothing secret)
    pool = next(iter(environment.pools.values()))

    def later(name: str) -> Any:
        made = copy.deepcopy(pool)
        made.__dict__["custom_ami"] = made_of(CustomAmi, random.Random(1))  # noqa: S311
        made.__dict__["reservation"] = made_of(Reservation, random.Random(1))  # noqa: S311
        made.__dict__["reservation"].__dict__["id"] = Later()
        made.__dict__["custom_ami"].__dict__["id"] = Later()
        made.__dict__["ami_version"] = Later()
        made.model_fields_set.update({"custom_ami", "reservation", "ami_version"})
        return {name: made}

    environment.__dict__["pools"] = later("one") | later("two")
    told = declared_side(environment, None)["config"][ENVIRONMENT_KEY]["pools"]
    reservations = [told[name]["reservation"]["id"] for name in ("one", "two")]

    assert [told[name]["customAmi"]["id"] for name in ("one", "two")] == ["ami-assumed"] * 2
    assert all(each.startswith("cr-assumed-") for each in reservations)
    assert len(set(reservations)) == 2
    assert all("amiVersion" not in each for each in told.values())


def dump(environment: Environment) -> dict[str, Any]:
    return environment.model_dump(mode="json", by_alias=True, exclude_unset=True)


def environments() -> list[dict[str, Any]]:
    """Of every stack, and of the right side of every example of a finding."""
    return list(stack_environments())


@pytest.mark.parametrize("seed", sampled(range(4), 2))
def test_random_stacks_are_told_as_they_are(seed: int, tmp_path: Path) -> None:
    """Blocks of one put into another, as far as nothing is wrong with that."""
    pick, given, tried = random.Random(seed), environments(), 0  # noqa: S311  (nothing secret)
    while tried < 40:
        one, other = pick.choice(given), pick.choice(given)
        made = {**one, **{key: other[key] for key in other if pick.random() < 0.3}}
        own = stack_of(tmp_path, made)
        if not own.plans:
            continue
        tried += 1
        assert_the_same(tmp_path, own)
