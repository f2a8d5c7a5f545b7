"""Rules about the pods of workloads: names, images, and what they take of a node."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

from eks_gpushare.documents.image import reference_fault
from eks_gpushare.documents.quantity import quantity
from eks_gpushare.facts.disruption_budgets import is_number_of_pods, lets_go
from eks_gpushare.facts.images import moving_tag
from eks_gpushare.facts.index import rule_of
from eks_gpushare.facts.shares import fit_before_shares
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.names import namespace_name_fault, subdomain_fault
from eks_gpushare.rules.planned import planned
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.nodes import allocatable
from eks_gpushare.sharing.workloads import (
    DEFAULT_NAMESPACE,
    PRIORITIES,
    asked_share,
    is_set_by_keda,
    most_replicas,
    pools_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.catalog import InstanceType
    from eks_gpushare.config.pools import Pool
    from eks_gpushare.config.workloads import PodBudget, Workload
    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.context import Context

_NAMES = "https://kubernetes.io/docs/concepts/overview/working-with-objects/names/"
_IMAGES = "https://kubernetes.io/docs/concepts/containers/images/"
_RESOURCES = "https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/"
_BUDGETS = "https://kubernetes.io/docs/tasks/run-application/configure-pdb/"
_STANDARDS = "https://kubernetes.io/docs/concepts/security/pod-security-standards/#baseline"

BAD_NAME = Rule(
    "GPU828",
    "error",
    "Names in a workload are names that Kubernetes takes.",
    "The API server refuses the object, when everything before it has been made.",
    _NAMES,
)
BAD_IMAGE = Rule(
    "GPU829",
    "error",
    "The image of a workload is the name of an image.",
    "Its pods never start: InvalidImageName.",
    _IMAGES,
)
FLOATING_IMAGE = rule_of("GPU830")
NO_PORT = Rule(
    "GPU827",
    "error",
    "What asks a workload whether it is ready has a port to ask at.",
    "Without a port no request can reach the path, and the setting would be ignored.",
    "https://kubernetes.io/docs/tasks/configure-pod-container/"
    "configure-liveness-readiness-startup-probes/",
)
BAD_AMOUNT = Rule(
    "GPU835",
    "error",
    "CPU and memory are amounts that Kubernetes takes, and requests are within the limits.",
    "The API server refuses the Deployment, or its pods one by one.",
    _RESOURCES,
)
TOO_LARGE = Rule(
    "GPU836",
    "error",
    "A pod of a workload fits on a node of each type of its pools.",
    "It waits for ever, and an autoscaler adds no node that it would not fit on either.",
    _RESOURCES,
)
SHARES_UNREACHED = rule_of("GPU837")
BAD_BUDGET = Rule(
    "GPU838",
    "error",
    "A disruption budget is one number of pods, or so many in a hundred.",
    "The API server refuses the PodDisruptionBudget.",
    _BUDGETS,
)
STUCK_BUDGET = rule_of("GPU849")
BAD_CAPABILITY = Rule(
    "GPU847",
    "error",
    "Capabilities of a workload are names that Kubernetes knows, and its namespace allows them.",
    "In a namespace that this stack makes, pods with others are refused in silence: the Deployment "
    "has none.",
    _STANDARDS,
)

_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_SECRET_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")
_VARIABLE = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")
_LONGEST_WORKLOAD = 46
"""What is left of the 58 characters that Kubernetes begins the name of a pod with, after a hash of
ten and two hyphens (apiserver, pkg/storage/names): a longer name would be cut, and its pods would
no longer be told by it."""
_TAKEN = ("kube-system", "kube-public", "kube-node-lease")
_BASELINE = (
    *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD"),
    *("NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
)
_MILLIS = 1000
_MIB = 2**20


@check(Scope.WORKLOADS, BAD_NAME, NO_PORT)
def names_of_workloads(ctx: Context) -> Iterator[Finding]:
    for name, workload in (ctx.environment.workloads or {}).items():
        at: FieldPath = ("workloads", name)
        if not _LABEL.fullmatch(name) or len(name) > _LONGEST_WORKLOAD:
            yield BAD_NAME.finding(
                at,
                f'"{name}" is not 1 to {_LONGEST_WORKLOAD} lower-case letters, digits and -, with '
                "a letter first and no - last.",
                "Rename the workload.",
            )
        yield from _namespace((*at, "namespace"), workload.namespace)
        yield from _variables(at, workload)
        if workload.service_account is not None:
            yield from _subdomain((*at, "serviceAccount"), workload.service_account)
        if workload.priority is not None and workload.priority not in PRIORITIES:
            yield from _subdomain((*at, "priority"), workload.priority)
        if (path := workload.readiness_path) is not None:
            if workload.port is None:
                message = "There is no port to ask at."
                yield NO_PORT.finding((*at, "readinessPath"), message, "Add port.")
            elif not path.startswith("/") or re.search(r"\s", path):
                message = f'"{path}" is no path of a URL.'
                yield NO_PORT.finding((*at, "readinessPath"), message, "Write it like /healthz.")


def _namespace(at: FieldPath, given: str) -> Iterator[Finding]:
    if given in _TAKEN:
        message = f"{given} is a namespace of Kubernetes itself."
        yield BAD_NAME.finding(at, message, "Use another one, such as default or models.")
    elif (fault := namespace_name_fault(given)) is not None:
        yield BAD_NAME.finding(at, *fault)


def _subdomain(at: FieldPath, given: str) -> Iterator[Finding]:
    if (message := subdomain_fault(given)) is not None:
        yield BAD_NAME.finding(at, message, "Correct the name.")


def _variables(at: FieldPath, workload: Workload) -> Iterator[Finding]:
    for key, names in (("env", workload.env), ("secretEnv", workload.secret_env)):
        for name in names:
            if not _VARIABLE.fullmatch(name):
                message = f'"{name}" is not letters, digits, _ - and . without a digit first.'
                yield BAD_NAME.finding((*at, key, name), message, "Rename the variable.")
    for name in workload.env.keys() & workload.secret_env.keys():
        message = f"{name} stands in env too."
        yield BAD_NAME.finding((*at, "secretEnv", name), message, "Remove one of the two.")
    for name, secret in workload.secret_env.items():
        where: FieldPath = (*at, "secretEnv", name)
        yield from _subdomain((*where, "secret"), secret.secret)
        if not _SECRET_KEY.fullmatch(secret.key):
            message = f'"{secret.key}" is not up to 253 letters, digits, - _ and .'
            yield BAD_NAME.finding((*where, "key"), message, "Correct the key.")


@check(Scope.WORKLOADS, BAD_IMAGE, FLOATING_IMAGE)
def images_of_workloads(ctx: Context) -> Iterator[Finding]:
    for name, workload in (ctx.environment.workloads or {}).items():
        yield from _image(("workloads", name, "image"), workload.image)


@check(Scope.POOL, BAD_IMAGE, FLOATING_IMAGE)
def image_of_warm_room(_: Context, name: str, pool: Pool) -> Iterator[Finding]:
    if pool.warm is not None and pool.warm.image is not None:
        yield from _image(("pools", name, "warm", "image"), pool.warm.image)


def _image(at: FieldPath, image: str) -> Iterator[Finding]:
    if fault := reference_fault(image):
        message = f'"{image}" is no image: {fault}.'
        yield BAD_IMAGE.finding(at, message, "Write it like registry.example/team/model:1.2.")
        return
    tag = moving_tag(image)
    if tag is not None:
        given = f"is pulled by {tag}" if tag else "has no tag, which is latest"
        yield FLOATING_IMAGE.finding(
            at, f"{image} {given}.", "Name a version, or better the digest: @sha256:..."
        )


@check(Scope.WORKLOADS, BAD_AMOUNT)
def amounts(ctx: Context) -> Iterator[Finding]:
    for name, workload in (ctx.environment.workloads or {}).items():
        at: FieldPath = ("workloads", name)
        given = workload.resources
        for key in ("cpu", "memory"):
            low, high = getattr(given.requests, key), getattr(given.limits, key)
            yield from _amount((*at, "resources", "requests", key), key, low)
            yield from _amount((*at, "resources", "limits", key), key, high)
            least = None if low is None else quantity(low)
            most = None if high is None else quantity(high)
            if least is not None and most is not None and least > most:
                message = f"{low} are requested, and the limit is {high}."
                fix = "Raise the limit, or request less."
                yield BAD_AMOUNT.finding((*at, "resources", "limits", key), message, fix)
        yield from _amount((*at, "sharedMemory"), "memory", workload.shared_memory)


def _amount(at: FieldPath, key: str, given: str | None) -> Iterator[Finding]:
    if given is None:
        return
    amount = quantity(given)
    example = "500m or 2" if key == "cpu" else "512Mi or 4Gi"
    if amount is None:
        message = f'"{given}" is no amount of {key}.'
        yield BAD_AMOUNT.finding(at, message, f"Write it like {example}.")
    elif amount <= 0:
        yield BAD_AMOUNT.finding(at, f"{given} is not more than 0.", f"Write it like {example}.")
    elif key == "memory" and amount != int(amount):
        message = f"{given} is less than a byte, or part of one: m stands for a thousandth."
        yield BAD_AMOUNT.finding(at, message, f"Write it like {example}.")
    elif key == "memory" and amount < 2**20:
        message = f"{given} is less than a MiB: a number without a unit counts bytes."
        yield BAD_AMOUNT.finding(at, message, f"Write it like {example}.")


@check(Scope.WORKLOADS, TOO_LARGE, SHARES_UNREACHED)
def fits(ctx: Context) -> Iterator[Finding]:
    """What the DaemonSets of a node take is little, and not known of every cluster."""
    for name, workload in (ctx.environment.workloads or {}).items():
        for pool in pools_of(workload):
            given = ctx.environment.pools.get(pool)
            if given is None or (plan := planned(ctx, pool, given)) is None:
                continue
            asked = asked_share(workload, plan)
            for instance_type, _ in ctx.gpu_types(given):
                count = plan.per_node[instance_type.name].get(asked, 0) // workload.shares
                yield from _fit(("workloads", name), workload, pool, instance_type, count)


def _fit(
    at: FieldPath, workload: Workload, pool: str, instance_type: InstanceType, count: int
) -> Iterator[Finding]:
    has, given = allocatable(instance_type), workload.resources
    for key, room, left in (
        ("cpu", Fraction(has.cpu_millis, _MILLIS), f"{has.cpu_millis}m"),
        ("memory", Fraction(has.memory_mib * _MIB), f"{has.memory_mib} MiB"),
    ):
        # Of a limit without a request Kubernetes makes the request.
        part = "limits" if getattr(given.requests, key) is None else "requests"
        text = getattr(getattr(given, part), key)
        amount = None if text is None else quantity(text)
        if amount is None or amount <= 0:
            continue
        where: FieldPath = (*at, "resources", part, key)
        pods = fit_before_shares(room, amount, count, most_replicas(workload))
        if amount > room:
            message = (
                f"A pod asks for {text} of {key}, and a node of {instance_type.name} in pool "
                f"{pool} has {left} for pods."
            )
            yield TOO_LARGE.finding(where, message, "Request less, or take a larger type.")
        elif pods is not None:
            message = (
                f"At {text} of {key} a pod, {pods} of the {count} that the shares of a node of "
                f"{instance_type.name} in pool {pool} are for fit on it."
            )
            fix = "Request less, take a larger type, or have fewer shares on a node."
            yield SHARES_UNREACHED.finding(where, message, fix)


@check(Scope.WORKLOADS, BAD_BUDGET, STUCK_BUDGET)
def budgets(ctx: Context) -> Iterator[Finding]:
    for name, workload in (ctx.environment.workloads or {}).items():
        budget = workload.disruption_budget
        if budget is None:
            continue
        at: FieldPath = ("workloads", name, "disruptionBudget")
        both = {
            "minAvailable": budget.min_available,
            "maxUnavailable": budget.max_unavailable,
        }
        given = {key: value for key, value in both.items() if value is not None}
        if len(given) != 1:
            message = "Both keys are given." if given else "Neither key is given."
            fix = "Give one of minAvailable and maxUnavailable."
            yield BAD_BUDGET.finding(at, message, fix)
            continue
        wrong = [
            BAD_BUDGET.finding(
                (*at, key),
                f"{value!r} is no number of pods.".replace("'", '"'),
                'Write a number from 0, or so many in a hundred like "25%".',
            )
            for key, value in given.items()
            if not is_number_of_pods(value)
        ]
        yield from wrong
        if not wrong:
            yield from _stuck(at, workload, budget)


def _stuck(at: FieldPath, workload: Workload, budget: PodBudget) -> Iterator[Finding]:
    if lets_go(None, None, budget.max_unavailable) is False:
        message = "No pod may be away."
        yield STUCK_BUDGET.finding((*at, "maxUnavailable"), message, "Set 1 or more.")
    least = budget.min_available
    scheduled = [window.replicas for window in workload.schedule or ()]
    pods = workload.replicas.min or min(scheduled, default=0)
    if least is not None and lets_go(pods, least, None) is False:
        every = "the only pod" if pods == 1 else f"all {pods} pods"
        few = f"{pods} is what there may be" if is_set_by_keda(workload) else f"there are {pods}"
        message = f"minAvailable {least} keeps {every}: {few}."
        yield STUCK_BUDGET.finding(
            (*at, "minAvailable"), message, "Give maxUnavailable: 1 instead."
        )


@check(Scope.WORKLOADS, BAD_CAPABILITY)
def capabilities(ctx: Context) -> Iterator[Finding]:
    for name, workload in (ctx.environment.workloads or {}).items():
        for index, given in enumerate(workload.capabilities):
            at: FieldPath = ("workloads", name, "capabilities", index)
            made = workload.create_namespace and workload.namespace != DEFAULT_NAMESPACE
            if not re.fullmatch(r"[A-Z][A-Z0-9_]*", given) or given.startswith("CAP_"):
                message = f'"{given}" is not the name of a capability without CAP_.'
                yield BAD_CAPABILITY.finding(at, message, "Write it like SETUID.")
            elif made and given not in _BASELINE:
                message = f"{given} is none that the namespace allows which this stack makes."
                fix = "Make the namespace elsewhere, with the label that allows it, and set "
                fix += "createNamespace: false."
                yield BAD_CAPABILITY.finding(at, message, fix)
