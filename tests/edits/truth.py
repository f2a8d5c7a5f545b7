"""What an edit does, by those who do it: providers replace, EKS rolls, and Karpenter drifts nodes.

The steps come from the engine, or from two recordings. Which properties replace a resource AWS
itself says (`createOnlyProperties` of CloudFormation's schemas), and for objects of Kubernetes
provider/pkg/provider/diff.go of pulumi-kubernetes.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from aws_oracle.cloudformation import EQUIVALENTS, schema

from eks_gpushare.program.values import to_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tests.edits.karpenter import Karpenter

    from eks_gpushare.program.recording import Recording, Resource

GROUP: Final = "aws:eks/nodeGroup:NodeGroup"
TEMPLATE: Final = "aws:ec2/launchTemplate:LaunchTemplate"
ADDON: Final = "aws:eks/addon:Addon"
CLUSTER: Final = "aws:eks/cluster:Cluster"
ROLE: Final = "aws:iam/role:Role"
NODE_POOL: Final = "kubernetes:karpenter.sh/v1:NodePool"
NODE_CLASS: Final = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
RELEASE: Final = "kubernetes:helm.sh/v3:Release"
NAMESPACE: Final = "kubernetes:core/v1:Namespace"
PROVIDER: Final = "pulumi:providers:kubernetes"
SCALED: Final = "kubernetes:keda.sh/v1alpha1:ScaledObject"
ENTRY: Final = "aws:eks/accessEntry:AccessEntry"
LOGS: Final = "aws:cloudwatch/logGroup:LogGroup"
QUEUE: Final = "kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue"
LOCAL_QUEUE: Final = "kubernetes:kueue.x-k8s.io/v1beta2:LocalQueue"

_BY_PROVIDER: Final[Mapping[str, frozenset[str]]] = {
    # What CloudFormation has no resource or another notion for: hashicorp/terraform-provider-aws.
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": frozenset({"policyArn", "role"}),
    "aws:cloudwatch/eventTarget:EventTarget": frozenset({"rule", "targetId"}),
    "aws:ec2/tag:Tag": frozenset({"key", "resourceId"}),
    "aws:ec2/eip:Eip": frozenset({"domain"}),  # CloudFormation changes it in place
    "aws:sqs/queuePolicy:QueuePolicy": frozenset({"queueUrl"}),
    # pulumi-kubernetes, for what this project registers.
    RELEASE: frozenset({"name", "namespace"}),
    "kubernetes:apps/v1:Deployment": frozenset({"spec.selector"}),
    "kubernetes:apps/v1:DaemonSet": frozenset({"spec.selector"}),
    # The same, provider/pkg/provider/provider.go, DiffConfig, for a provider that has one.
    PROVIDER: frozenset({"clusterIdentifier"}),
}
_REFUSED_IN_PLACE: Final[Mapping[str, frozenset[str]]] = {
    # "self == oldSelf" in config/components/crd/bases of kubernetes-sigs/kueue, 0.16.2; of the
    # other kinds that are registered, Karpenter's and KEDA's definitions have no such rule but of
    # what is static, which another rule holds.
    LOCAL_QUEUE: frozenset({"spec.clusterQueue"}),
}
"""What the API server refuses to change of an object that is there."""
_ONE_OF: Final[Mapping[str, tuple[str, ...]]] = {
    ENTRY: ("clusterName", "principalArn"),
    ADDON: ("clusterName", "addonName"),
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": (
        *("clusterName", "namespace", "serviceAccount"),
    ),
    LOGS: ("name",),
    RELEASE: ("namespace", "name"),
}
"""By which inputs there is one resource of a type; of Kubernetes' objects the metadata say it."""
_SETS: Final = {(GROUP, "subnetIds"), (GROUP, "taints")}
_STAYING: Final = {(GROUP, "releaseVersion"), (GROUP, "version")}
"""Optional and Computed in the provider: taken out of the program, they stay as they are."""
_NO_NEW_VERSION: Final = {"tags", "tagsAll", "updateDefaultVersion", "description", "name"}


@dataclass(frozen=True, slots=True)
class Step:
    """What becomes of one resource."""

    type: str
    name: str
    op: str
    """create, update, replace or delete."""
    was: Mapping[str, Any] = field(default_factory=dict)
    now: Mapping[str, Any] = field(default_factory=dict)
    within: tuple[str, ...] = ()
    """Names of the components that it is in, the innermost first."""

    @property
    def changed(self) -> set[str]:
        """Inputs that differ."""
        names = {*self.was, *self.now}
        return {name for name in names if _differs(self.type, name, self.was, self.now)}


def _differs(token: str, name: str, was: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    if (token, name) in _STAYING and name not in now:
        return False
    left, right = was.get(name), now.get(name)
    if (token, name) in _SETS and isinstance(left, list) and isinstance(right, list):
        return sorted(map(str, left)) != sorted(map(str, right))
    return left != right


@cache
def create_only(token: str) -> frozenset[str]:
    """Inputs of a type that make another resource of it, as AWS says."""
    given = _BY_PROVIDER.get(token, frozenset())
    if token.startswith("kubernetes:"):
        return given | {"metadata.name", "metadata.namespace"}
    if token not in EQUIVALENTS:
        return given
    to = EQUIVALENTS[token]
    whole = (each.split("/")[2:] for each in schema(to.type).get("createOnlyProperties", ()))
    theirs = {each[0] for each in whole if len(each) == 1}
    ours = {name: mine for mine, name in to.names.items()}
    names = {ours.get(each, each[:1].lower() + each[1:]) for each in theirs}
    return frozenset(names | given | ({"namePrefix"} if "name" in names else set()))


def registered(token: str) -> frozenset[str]:
    """Inputs of a type that some stack registers."""
    return frozenset(_registered()[token])


@cache
def _registered() -> Mapping[str, set[str]]:
    from tests.edits.holding import recorded
    from tests.edits.trial import stacks

    found: defaultdict[str, set[str]] = defaultdict(set)
    for stack, config in stacks().items():
        for resource in recorded(stack, config).resources:
            found[resource.type].update(resource.inputs)
    return found


def steps_of(before: Recording, after: Recording) -> list[Step]:
    """What the engine would do of it, from what a program registers before and after."""
    olds = {_bare(each.urn): each for each in before.resources if each.custom}
    news = {_bare(each.urn): each for each in after.resources if each.custom}
    found: list[Step] = []
    replaced: set[str] = set()
    for urn, new in news.items():  # in the order of registration: dependencies come first
        old = olds.get(urn)
        parts = new.type, new.name
        if old is None:
            found.append(Step(*parts, "create", {}, to_json(new.inputs), _within(new, after)))
            continue
        was, now = to_json(old.inputs), _kept(to_json(old.inputs), to_json(new.inputs), new)
        step = Step(*parts, "update", was, now, _within(new, after))
        anew = any(_changed_at(path, was, now, step) for path in create_only(new.type))
        anew = anew or any(
            pointed in replaced
            for path in create_only(new.type)
            for pointed in map(_bare, new.property_dependencies.get(path, ()))
        )
        anew = anew or _bare(new.provider or "::") in replaced  # what it manages is another one's
        hands = [_bare(each.provider or "::") for each in (old, new)]
        anew = anew or (PROVIDER in hands[0] and hands[0] != hands[1])
        anew = anew or any(_bare(each) in replaced for each in new.options.get("replaceWith", ()))
        anew = anew or any(_at(was, p) != _at(now, p) for p in _replacing(new))
        if anew:
            replaced.add(urn)
            found.append(Step(*parts, "replace", was, now, step.within))
        elif step.changed:
            found.append(step)
    found += [
        Step(old.type, old.name, "delete", to_json(old.inputs), {}, _within(old, before))
        for urn, old in olds.items()
        if urn not in news
    ]
    return found


def _replacing(resource: Resource) -> Iterable[str]:
    return tuple(resource.options.get("replaceOnChanges", ()))


def _changed_at(path: str, was: Mapping[str, Any], now: Mapping[str, Any], step: Step) -> bool:
    top, _, rest = path.partition(".")
    if not rest:
        return top in step.changed
    return bool(_at(was, path) != _at(now, path))


def _at(value: Any, path: str) -> Any:
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _kept(was: dict[str, Any], now: dict[str, Any], new: Resource) -> dict[str, Any]:
    """With what the program has ignored as it was."""
    found = dict(now)
    for path in new.options.get("ignoreChanges", ()):
        top, _, rest = path.partition(".")
        if not rest:
            found[top] = was.get(top)
        elif isinstance(found.get(top), dict) and isinstance(was.get(top), dict):
            found[top] = {**found[top], rest: was[top].get(rest)}
    return {key: value for key, value in found.items() if value is not None or key in now}


def _bare(urn: str) -> str:
    return urn.split("::", 1)[1]


def _within(resource: Resource, run: Recording) -> tuple[str, ...]:
    found, at = [], run.by_urn.get(resource.parent)
    while at is not None:
        found.append(at.name)
        at = run.by_urn.get(at.parent)
    return tuple(found)


NODES_GO: Final = frozenset({"replace", "roll", "delete", "terminate", "refused"})
PODS_GO: Final = NODES_GO | {"evict", "restart", "repartition", "request"}
TOLD: Final = PODS_GO | {"update", "create"}
_ROLLS: Final = frozenset({"roll", "replace", "refused"})


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that goes or changes, and by which effects it may be told."""

    what: str
    effects: frozenset[str]
    names: frozenset[str]
    """Under which of these names."""


_MANAGERS: Final = {"nvidia-device-plugin", "gpu-operator"}
"""Charts that have the same work, so that one takes over from the other."""
_PROPERTIES: Final = {
    CLUSTER: {"version", "vpcConfig", "deletionProtection", "upgradePolicy"},
    ENTRY: {"kubernetesGroups"},
    LOGS: {"retentionInDays"},
    RELEASE: {"values", "version", "chart", "repositoryOpts"},
    SCALED: {"spec"},
}
_GOING: Final = {
    *(RELEASE, NAMESPACE, SCALED, ADDON, "kubernetes:apps/v1:Deployment"),
    *("kubernetes:apps/v1:DaemonSet", "kubernetes:apps/v1:StatefulSet"),
    *("aws:ec2/natGateway:NatGateway", "aws:ec2/eip:Eip", "aws:amp/workspace:Workspace"),
    *(ENTRY, LOGS, QUEUE),
}
"""What does not go or come anew in silence, besides nodes."""
_ANEW: Final = {"replace", "delete"}
_ON_CLUSTER: Final = ("kubernetes:", "aws:eks/addon:", "aws:eks/accessEntry:")


def facts(steps: list[Step], karpenter: Karpenter) -> list[Fact]:
    """What goes by an edit: nodes, pods, or what they stand on."""
    found: list[Fact] = []
    # What goes with its cluster need not be told by itself.
    gone = {n for each in steps if each.type == CLUSTER and each.op in _ANEW for n in each.within}
    left, came = (
        {each.within[0] for each in steps if each.op == op and _chart(each) in _MANAGERS}
        for op in ("delete", "create")
    )
    # With KEDA's chart go the definitions of its kinds, and what is of them is made anew with it.
    kedas = {
        name
        for each in steps
        if _chart(each) == "keda" and each.op in _ANEW
        for name in (each.name, *each.within[:1])
    }
    for step in steps:
        on = gone if step.type.startswith(_ON_CLUSTER) else set[str]()
        if step.type == SCALED and (step.op == "delete" or not step.changed):
            on = on | kedas
        if left & {*step.within[:1]}:  # one manager in place of the other is told under its name
            on = on | came
        names = frozenset({step.name, *step.within, *on})
        for what, effects in _facts_of(step, karpenter):
            found.append(
                Fact(f"{step.type.rpartition(':')[2]} {step.name}: {what}", effects, names)
            )
    return found + _in_the_way(steps)


def _in_the_way(steps: list[Step]) -> list[Fact]:
    """What is made while the one that it takes the place of is still there: the engine makes first.

    One manager of GPUs takes over from the other by aliases, of which the steps know nothing.
    """
    goes = {of: step for step in steps if step.op == "delete" and (of := _identity(step, step.was))}
    return [
        Fact(
            f"{step.type.rpartition(':')[2]} {step.name}: is made while {goes[of].name} is there",
            frozenset({"refused"}),
            frozenset({step.name, *step.within}),
        )
        for step in steps
        if step.op == "create" and (of := _identity(step, step.now)) in goes
        if not any("device-plugin" in name or "gpu-operator" in name for name in step.within)
    ]


def _identity(step: Step, given: Mapping[str, Any]) -> tuple[object, ...]:
    metadata = given.get("metadata")
    if step.type.startswith("kubernetes:") and isinstance(metadata, dict):
        found: tuple[object, ...] = (metadata.get("namespace"), metadata.get("name"))
    else:
        found = tuple(given.get(name) for name in _ONE_OF.get(step.type, ()))
    return (step.type, *found) if any(found) else ()


def _chart(step: Step) -> object:
    return (step.now or step.was).get("chart") if step.type == RELEASE else None


def _facts_of(step: Step, karpenter: Karpenter) -> Iterator[tuple[str, frozenset[str]]]:
    if step.type == GROUP:
        yield from _of_group(step)
    elif step.type == NODE_POOL:
        yield from _of_pool(step, karpenter)
    elif step.type == NODE_CLASS:
        yield from _of_class(step, karpenter)
    elif step.type == CLUSTER and step.op in _ANEW:
        yield step.op, frozenset({"replace", "delete", "refused"})
    elif step.op == "update" and any(
        _at(step.was, path) != _at(step.now, path) for path in _REFUSED_IN_PLACE.get(step.type, ())
    ):
        yield "is refused in place", frozenset({"refused"})
    elif (
        (step.op in _ANEW and step.type in _GOING)
        or (step.op == "replace" and step.type == LOCAL_QUEUE)
        or (step.op == "update" and step.changed & _told(step))
    ):
        effects = _ROLLS if step.type == TEMPLATE else TOLD
        yield f"{step.op} {sorted(step.changed & _told(step))}", effects
    # The chart's templates make no Prometheus then (templates/prometheus/prometheus.yaml of
    # kube-prometheus-stack), and its StatefulSet goes with it, by its owner.
    enabled = [_at(each, "values.prometheus.enabled") for each in (step.was, step.now)]
    if step.type == RELEASE and step.op == "update" and False in enabled[1:] and enabled[0] is None:
        yield "its Prometheus goes", frozenset({"delete"})


def _told(step: Step) -> set[str]:
    """Properties of a type that nobody may change in silence."""
    if step.type.startswith("kubernetes:apps/"):
        return {"spec"}
    if step.type == ADDON:
        return step.changed - {"tags", "resolveConflictsOnUpdate", "resolveConflictsOnCreate"}
    if step.type == TEMPLATE:
        return step.changed - _NO_NEW_VERSION
    return _PROPERTIES.get(step.type, set())


def _of_group(step: Step) -> Iterator[tuple[str, frozenset[str]]]:
    if step.op in {"create", "delete", "replace"}:
        yield step.op, frozenset({step.op, "refused"})
        return
    if rolling := sorted(step.changed & {"version", "releaseVersion"}):
        yield f"roll {rolling}", _ROLLS
    was, now = (each.get("scalingConfig") or {} for each in (step.was, step.now))
    if float(now.get("desiredSize") or 0) < float(was.get("desiredSize") or 0):
        yield "scales in", frozenset({"terminate", "replace", "refused"})
    taints = [each.get("taints") or [] for each in (step.was, step.now)]
    if any(each["effect"] == "NO_EXECUTE" and each not in taints[0] for each in taints[1]):
        yield "evicts", frozenset({"evict", "replace", "refused"})
    if rest := step.changed - {"tags", "launchTemplate"}:
        yield f"update {sorted(rest)}", TOLD


def _of_pool(step: Step, karpenter: Karpenter) -> Iterator[tuple[str, frozenset[str]]]:
    if step.op in {"create", "delete"}:
        yield step.op, frozenset({step.op})
        return
    if step.op == "replace":
        yield "replace", frozenset({"replace", "roll", "delete"})
        return
    says = karpenter.of(step.was, step.now)
    if says.hash or says.requirements:
        yield f"drifts ({'hash' if says.hash else 'requirements'})", frozenset({"roll"})
    before, after = (each.get("spec", {}).get("replicas") for each in (step.was, step.now))
    if before is not None and after is not None and int(after) < int(before):
        yield "fewer replicas", frozenset({"terminate"})
    waits = [_at(each, "spec.disruption.consolidateAfter") for each in (step.was, step.now)]
    sooner = says.moved[0] and waits[0] != waits[1] and _seconds(waits[1]) < _seconds(waits[0])
    if says.moved[1] > says.moved[0] or (says.moved[1] and sooner):
        yield f"evicts {says.moved}", frozenset({"evict", "roll"})
    if _none_goes(step.was) and not _none_goes(step.now):
        yield "lets go nodes that have drifted", frozenset({"evict", "roll"})
    yield f"update {sorted(step.changed)}", TOLD


def _none_goes(pool: Mapping[str, Any]) -> bool:
    """Whether a budget of none, for every hour, holds nodes that have drifted."""
    budgets = _at(pool, "spec.disruption.budgets") or []
    return any(
        str(each["nodes"]) in {"0", "0%"}
        and "schedule" not in each
        and "Drifted" in each.get("reasons", ["Drifted"])
        for each in budgets
    )


def _seconds(text: object) -> float:
    units, total, number = {"h": 3600, "m": 60, "s": 1}, 0.0, ""
    for letter in str(text):
        if letter in units:
            total, number = total + float(number) * units[letter], ""
        else:
            number += letter
    return total if total or str(text) == "0s" else float("inf")


def _of_class(step: Step, karpenter: Karpenter) -> Iterator[tuple[str, frozenset[str]]]:
    if step.op != "update":  # or there is nothing of before
        return  # its pool points to it by name, and that is in the pool's hash
    was, now = (each.get("spec") or {} for each in (step.was, step.now))
    # pkg/cloudprovider/drift.go of aws/karpenter-provider-aws: by what is selected.
    reasons = ["hash"] if karpenter.of(step.was, step.now).hash else []
    if was.get("amiSelectorTerms") != now.get("amiSelectorTerms"):
        reasons.append("AMI")
    if any(
        each not in (now.get("subnetSelectorTerms") or ()) for each in was["subnetSelectorTerms"]
    ):
        reasons.append("subnet")
    groups = [each.get("securityGroupSelectorTerms") or [] for each in (was, now)]
    if sorted(map(str, groups[0])) != sorted(map(str, groups[1])):
        reasons.append("security group")
    kept = [str(each) for each in now.get("capacityReservationSelectorTerms") or ()]
    if any(str(each) not in kept for each in was.get("capacityReservationSelectorTerms") or ()):
        reasons.append("capacity reservation")
    if was.get("placementGroupSelector") != now.get("placementGroupSelector"):
        reasons.append("placement group")
    if reasons:
        yield f"drifts ({', '.join(reasons)})", frozenset({"roll"})


def version_drifts(steps: list[Step], after: Recording) -> list[Fact]:
    """Nodes that drift by what their class names: another role, or the control plane's image."""
    upgraded = any(each.type == CLUSTER and "version" in each.changed for each in steps)
    roles = {each.name for each in steps if each.type == ROLE and each.op == "replace"}
    anew = {each.name for each in steps if each.type == NODE_CLASS and each.op == "replace"}
    found = []
    for each in after.of_type(NODE_CLASS):
        if each.name in anew:
            continue
        terms = to_json(each.inputs)["spec"].get("amiSelectorTerms") or ()
        pointed = {urn for urns in each.property_dependencies.values() for urn in urns}
        reasons = ["AMI"] if upgraded and any("alias" in term for term in terms) else []
        reasons += ["role"] if roles & {urn.rpartition("::")[2] for urn in pointed} else []
        if reasons:
            names = frozenset({each.name, *_within(each, after)})
            effects = frozenset({"roll", "refused"})
            what = f"EC2NodeClass {each.name}: drifts ({', '.join(reasons)})"
            found.append(Fact(what, effects, names))
    return found


def grouped(found: list[Fact]) -> Mapping[str, list[Fact]]:
    """Facts by each of the names that they may be told under."""
    by: defaultdict[str, list[Fact]] = defaultdict(list)
    for each in found:
        for name in each.names:
            by[name].append(each)
    return by
