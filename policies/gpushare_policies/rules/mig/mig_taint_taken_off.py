"""What takes the startup taint off nodes with MIG has the right to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pulumi_policy import Severity, StackValidationArgs

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown
from gpushare_policies.checks import Unjudged
from gpushare_policies.props import each, peek
from gpushare_policies.reading.blanks import refuse_blanks
from gpushare_policies.reading.objects import Kind, pod_templates, words_of
from gpushare_policies.reading.plain import items, mappings, text
from gpushare_policies.reading.program_objects import PlacedObject, objects_in
from gpushare_policies.rule import StackPolicy
from gpushare_policies.tokens import NODE_GROUP
from gpushare_policies.words import Fix, name_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

_RBAC = "rbac.authorization.k8s.io"
_ROLE, _BINDING = Kind(_RBAC, "ClusterRole"), Kind(_RBAC, "ClusterRoleBinding")
_POOL = Kind("karpenter.sh", "NodePool")
_RUNS = (
    Kind("apps", "Deployment"),
    Kind("apps", "DaemonSet"),
    Kind("apps", "StatefulSet"),
    Kind("batch", "Job"),
    Kind("batch", "CronJob"),
)
_PROGRAM = "mig_taint_remover.py"
_VERBS = ("list", "patch", "watch")
"""What the program asks of nodes: it watches them, and takes the taint off by a patch."""
_COMMAND = re.compile(
    r"\bkubectl\b[^;&|\n]*\btaint\b[^;&|\n]*?\s"
    r"([A-Za-z0-9_./-]+?)(?:=[^\s:]*)?(?::[A-Za-z]+)?-(?=$|[\s;&|)'\"])"
)
"""What takes a taint off: `kubectl taint node NAME key=value:Effect-`."""
_VERBS_OF_COMMAND = ("get", "patch")
"""What `kubectl taint` asks of a node by its name."""
_STACK_FILE = "A stack file's pools bring them: remove what changes them, such as a transform."
_RAW = (
    "Bind the service account to a ClusterRole with these verbs on nodes, by a ClusterRoleBinding."
)
_RIGHTS = Fix(_STACK_FILE, _RAW, _RAW)


def _taken_off(args: StackValidationArgs) -> Iterator[tuple[str, str] | Unjudged]:
    refuse_blanks(args)
    found = [*objects_in(args.resources, (*_RUNS, _ROLE, _BINDING, _POOL))]
    of_groups = {
        str(peek(taint, "key"))
        for group in args.resources
        if group.resource_type == NODE_GROUP
        for taint in each(peek(group.props, "taints"))
    }
    for obj in found:
        if obj.object.kind not in _RUNS:
            continue
        here = [other for other in found if other.cluster == obj.cluster]
        verbs, account = _asked(obj, here, of_groups)
        if verbs:
            yield from _judged(obj, account, verbs, here)


def _asked(
    placed: PlacedObject, here: Sequence[PlacedObject], of_groups: Collection[str]
) -> tuple[Sequence[str], Any]:
    """What pods that take a startup taint off ask of nodes, and by which service account."""
    for template in pod_templates(placed.object):
        for _, container in mappings(at(template.spec, "containers")):
            words = words_of(container)
            account = text(at(template.spec, "serviceAccountName"), "default")
            if any(word.rpartition("/")[2] == _PROGRAM for word in words):
                return _VERBS, account
            taken = {match[1] for match in _COMMAND.finditer(" ".join(words))}
            if taken and taken & {*_startup_taints(here), *of_groups}:
                return _VERBS_OF_COMMAND, account
    return (), None


def _startup_taints(here: Sequence[PlacedObject]) -> set[str]:
    """Keys of the taints that nodes of Karpenter's pools are to lose."""
    return {
        str(taint.get("key"))
        for pool in here
        if pool.object.kind == _POOL
        for _, taint in mappings(at(pool.object.body, "spec", "template", "spec", "startupTaints"))
    }


def _judged(
    remover: PlacedObject, account: Any, verbs: Sequence[str], found: Sequence[PlacedObject]
) -> Iterator[tuple[str, str] | Unjudged]:
    bindings = [obj for obj in found if obj.object.kind == _BINDING]
    roles = {obj.object.name: obj for obj in found if obj.object.kind == _ROLE}
    if UNKNOWN in (account, remover.namespace) or any(
        has_unknown([at(obj.object.body, key) for key in ("roleRef", "subjects")])
        for obj in bindings
    ):
        yield Unjudged(f"the rights of {name_of(remover.urn)}")
        return
    bound = [
        roles[name]
        for obj in bindings
        if _binds(obj, account, remover.namespace)
        and (name := at(obj.object.body, "roleRef", "name")) in roles
    ]
    rules = [rule for role in bound for rule in items(at(role.object.body, "rules"))]
    if has_unknown(rules) or any(at(obj.object.body, "rules") is UNKNOWN for obj in bound):
        yield Unjudged(f"the rights of {name_of(remover.urn)}")
        return
    lacking = [verb for verb in verbs if not any(_allows(rule, verb) for rule in rules)]
    if lacking:
        yield (
            (
                f"The service account {account} of {name_of(remover.urn)} may not "
                f"{', '.join(lacking)} nodes. It must, or the startup taint stays on every node "
                f"with MIG, and no pod ever runs there. {_RIGHTS.of(remover.urn)}"
            ),
            remover.urn,
        )


def _binds(binding: PlacedObject, account: str, namespace: Any) -> bool:
    if at(binding.object.body, "roleRef", "kind") != "ClusterRole":
        return False
    return any(
        subject.get("kind") == "ServiceAccount"
        and subject.get("name") == account
        and subject.get("namespace") == namespace
        for _, subject in mappings(at(binding.object.body, "subjects"))
    )


def _allows(rule: Any, verb: str) -> bool:
    wanted = (("apiGroups", ""), ("resources", "nodes"), ("verbs", verb))
    if items(at(rule, "resourceNames")):
        return False
    return all({one, "*"} & set(map(str, items(at(rule, key)))) for key, one in wanted)


MIG_TAINT_TAKEN_OFF = StackPolicy(
    "mig-taint-taken-off",
    "What takes the startup taint off nodes with MIG must have the right to.",
    check=_taken_off,
    applies_to=(
        "kubernetes:apps/v1:Deployment",
        "kubernetes:apps/v1:DaemonSet",
        f"kubernetes:{_RBAC}/v1:ClusterRole",
        f"kubernetes:{_RBAC}/v1:ClusterRoleBinding",
    ),
    severity=Severity.HIGH,
    fix=_RIGHTS,
)
