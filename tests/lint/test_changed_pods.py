"""Pods that policies of admission change: what is unknown of them, and what is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from linted import every, found_in_parts, said

from eks_gpushare.lint.declared import Declared

if TYPE_CHECKING:
    from pathlib import Path

NODES = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: home, region: eu-central-1, version: "1.33"}
managedNodeGroups:
  - name: gpu
    instanceType: g6.xlarge
    amiFamily: AmazonLinux2023
    taints: [{key: team, value: ml, effect: NoSchedule}]
"""
SPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: ml, labels: {team: ml}}\n"
POD = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: a, namespace: ml}
spec:
  replicas: 1
  strategy: {type: Recreate}
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec:
      containers: [{name: a, image: a, resources: {limits: {nvidia.com/gpu: 1}}}]
"""
ADDED = "{spec: {+(tolerations): [{key: team, operator: Exists}]}}"


def kyverno(match: str = "any: [{resources: {kinds: [Pod]}}]", more: str = "") -> str:
    return f"""\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {{name: gpu}}
spec:
  rules:
    - name: gpu
      match: {{{match}}}
      mutate: {{patchStrategicMerge: {ADDED}}}
      {more}
"""


def of_kubernetes(constraints: str = "namespaceSelector: {}") -> str:
    return f"""\
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {{name: gpu}}
spec:
  matchConstraints: {{{constraints}}}
  mutations:
    - patchType: ApplyConfiguration
      applyConfiguration:
        expression: 'Object{{spec: Object.spec{{tolerations: [Object.spec.tolerations{{}}]}}}}'
"""


def gatekeeper(match: str = "scope: Namespaced") -> str:
    return f"""\
apiVersion: mutations.gatekeeper.sh/v1
kind: Assign
metadata: {{name: gpu}}
spec:
  applyTo: [{{groups: [""], kinds: [Pod], versions: [v1]}}]
  match: {{{match}}}
  location: spec.tolerations
  parameters: {{assign: {{value: [{{key: team, operator: Exists}}]}}}}
"""


OF_OTHERS = "kinds: [{apiGroups: ['*'], kinds: [Pod]}]"


@pytest.mark.parametrize(
    ("policy", "wrong"),
    [
        ("", True),
        (kyverno(), False),
        (kyverno("resources: {kinds: [Pod]}"), False),
        (kyverno("any: [{resources: {kinds: [apps/v1/Deployment]}}]"), False),
        (kyverno("any: [{resources: {kinds: [Service]}}]"), True),
        (kyverno("any: [{resources: {namespaces: [web]}}, {resources: {kinds: [Pod]}}]"), False),
        (kyverno("all: [{resources: {namespaces: ['m*']}}]"), False),
        (kyverno("all: [{resources: {namespaces: [web]}}]"), True),
        (kyverno("all: [{resources: {namespaces: [$SPACE]}}]"), False),
        (kyverno("any: [{resources: {selector: {matchLabels: {app: a}}}}]"), False),
        (kyverno("any: [{resources: {selector: {matchLabels: {app: b}}}}]"), True),
        (kyverno("any: [{resources: {namespaceSelector: {matchLabels: {team: ml}}}}]"), False),
        (kyverno("any: [{resources: {namespaceSelector: {matchLabels: {gpu: a}}}}]"), True),
        (kyverno(more="exclude: {any: [{resources: {namespaces: [ml]}}]}"), True),
        (kyverno(more="exclude: {any: [{resources: {namespaces: [web]}}]}"), False),
        (kyverno(more="exclude: {any: [{resources: {namespaces: [ml], names: [b]}}]}"), False),
        (kyverno(more="exclude: {any: [{resources: {kinds: [Pod], namespaces: [ml]}}]}"), True),
        (kyverno(more="exclude: {any: [{resources: {namespaces: [$SPACE]}}]}"), False),
        (kyverno("all: [{resources: {kinds: [Service]}}, {resources: {kinds: [Pod]}}]"), True),
        (kyverno().replace("+(tolerations)", "dnsPolicy"), True),
        (kyverno().replace("kyverno.io/v1", "example.com/v1"), True),
        (of_kubernetes(), False),
        (of_kubernetes("objectSelector: {matchLabels: {app: b}}"), True),
        (gatekeeper(), False),
        (gatekeeper(OF_OTHERS), False),
        (gatekeeper("labelSelector: {matchLabels: {app: b}}"), True),
        (gatekeeper("namespaces: [web]"), True),
    ],
)
def test_what_a_policy_may_add_is_not_missing(policy: str, *, wrong: bool) -> None:
    files = {"nodes.yaml": NODES, "pod.yaml": f"{SPACE}---\n{POD}", "policy.yaml": policy or "{}"}

    assert ("GPU1111" in said(files)) is wrong


@pytest.mark.parametrize(
    ("labels", "wrong"), [("{a: b}", True), ("$LABELS", False), ("{gpu: a}", False)]
)
def test_a_namespace_goes_by_the_labels_that_it_is_known_to_have(
    labels: str, *, wrong: bool
) -> None:
    policy = kyverno("any: [{resources: {namespaceSelector: {matchLabels: {gpu: a}}}}]")
    space = SPACE.replace("{team: ml}", labels)

    assert ("GPU1111" in said({"a.yaml": f"{NODES}---\n{space}---\n{POD}---\n{policy}"})) is wrong
    assert "GPU1111" not in said({"a.yaml": f"{NODES}---\n{POD}---\n{policy}"})


def test_what_is_not_known_of_a_pod_stays_so() -> None:
    unknown = POD.replace("      containers: [", "      $MORE\n      containers: [")

    assert "GPU1111" not in said({"a.yaml": f"{NODES}---\n{unknown}---\n{kyverno()}"})


@pytest.mark.parametrize(
    ("policy", "wrong"),
    [
        ({"policies/pods.yaml": kyverno()}, False),
        ({"policies/pods.yaml": kyverno(more="exclude: {any: [{resources: {namespaces: [ml]}}]}")},
         True),
        ({"policies/README.md": f"# Pods\n\n```yaml\n{kyverno()}```\n"}, True),
        ({}, True),
    ],
)  # fmt: skip
def test_a_policy_is_for_pods_of_other_folders(
    policy: dict[str, str], *, wrong: bool, tmp_path: Path
) -> None:
    files = {"cluster/nodes.yaml": NODES, "ml/pod.yaml": f"{SPACE}---\n{POD}", **policy}
    apart = Declared(paths={"a": ("cluster/*", "ml/*")}, folder=str(tmp_path))
    found = found_in_parts(tmp_path, files, apart)
    assert ("GPU1111" in {each.code for each in found}) is wrong


def test_one_that_a_guide_shows_changes_no_pods_of_others() -> None:
    """However many files are read at once."""
    pods = {"cluster/nodes.yaml": NODES, "cluster/pod.yaml": f"{SPACE}---\n{POD}"}
    guide = f"# Pods\n\n```yaml\n{kyverno()}```\n"

    assert "GPU1111" not in said({**pods, "policies/pods.yaml": kyverno()})
    assert "GPU1111" in said({**pods, "policies/README.md": guide})


# --- what a policy writes, where it is certain ----------------------------------------------------

LABELLED = NODES.replace("    taints:", "    labels: {pool: gpu}\n    taints:")
OF_ML = "any: [{resources: {kinds: [Pod], namespaceSelector: {matchLabels: {team: ml}}}}]"
OTHER = "{key: team, operator: Equal, value: web, effect: NoSchedule}"
RIGHT = "{key: team, operator: Equal, value: ml, effect: NoSchedule}"


def add(path: str, value: str, operation: str = "add") -> str:
    return f"{{op: {operation}, path: {path}, value: {value}}}"


def writes(*operations: str, match: str = OF_ML, more: str = "", spec: str = "") -> str:
    """A policy with a JSON patch."""
    mutate = f"patchesJson6902: '[{', '.join(operations)}]'"
    return policy_of(f"{{{mutate}}}", match, more, spec)


def policy_of(mutate: str, match: str = OF_ML, more: str = "", spec: str = "") -> str:
    return f"""\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {{name: gpu}}
spec:
  background: false
  {spec}
  rules:
    - name: gpu
      match: {{{match}}}
      mutate: {mutate}
      {more}
"""


def told(*policies: str, pod: str = POD, nodes: str = LABELLED, space: str = SPACE) -> list[str]:
    files = {"nodes.yaml": nodes, "pod.yaml": f"{space}---\n{pod}"}
    files |= {f"policy{number}.yaml": each for number, each in enumerate(policies)}
    ours = ("GPU1111", "GPU1112")
    return [
        each.code for each in every(files.items()) if each.code in ours and each.severity != "info"
    ]


APPENDED = add("/spec/tolerations/-", OTHER)


@pytest.mark.parametrize(
    "policy",
    [
        writes(APPENDED),
        writes(APPENDED, add("/metadata/labels/a", "b")),
        writes(add("/spec/tolerations", f"[{OTHER}]")),
        writes(APPENDED, add("/spec/tolerations/-", "{key: gpu, operator: Exists}")),
        writes(add("/spec/tolerations/-", "{key: a, operator: Exists, tolerationSeconds: 9}")),
        policy_of(f"{{patchesJson6902: [{APPENDED}]}}"),
        policy_of(f"{{patchStrategicMerge: {{spec: {{tolerations: [{OTHER}]}}}}}}"),
        writes(APPENDED, match="any: [{resources: {kinds: [v1/Pod]}}]"),
        writes(APPENDED, match="all: [{resources: {kinds: [Pod]}}]"),
        writes(APPENDED, match="resources: {kinds: [Pod]}"),
        writes(APPENDED, match="any: [{resources: {kinds: [Pod], namespaces: ['m?']}}]"),
        writes(APPENDED, match="any: [{resources: {kinds: [Pod], operations: [CREATE, UPDATE]}}]"),
        writes(
            APPENDED,
            match="any: [{resources: {kinds: [Pod], namespaces: [web]}}, "
            "{resources: {kinds: [Pod], namespaces: [ml]}}]",
        ),
        writes(
            APPENDED,
            match="any: [{resources: {kinds: [Pod], selector: {matchLabels: {app: a}}}}]",
        ),
        writes(APPENDED, more="skipBackgroundRequests: true", spec="failurePolicy: Fail"),
        writes(
            APPENDED,
            spec="{failurePolicy: Fail, schemaValidation: true, webhookTimeoutSeconds: 9, "
            "validationFailureAction: Audit, mutateExistingOnPolicyUpdate: false, emitWarning: "
            "false}".strip("{}").replace(", ", "\n  "),
        ),
        writes(
            APPENDED,
            match="any: [{resources: {kinds: [Pod], operations: [CREATE], namespaces: [ml], "
            "namespaceSelector: {matchLabels: {team: ml}}, selector: {matchLabels: {app: a}}}}]",
        ),
    ],
)
def test_a_toleration_that_a_policy_adds_may_be_of_another_taint(policy: str) -> None:
    assert told(policy) == ["GPU1111"]
    assert told(policy.replace("value: web", "value: ml").replace("key: a,", "key: team,")) == []


@pytest.mark.parametrize(
    "policy",
    [
        # Whether it is for these pods, and when, hangs on more than what stands here.
        writes(APPENDED, more="preconditions: {all: []}"),
        writes(APPENDED, more="context: [{name: a}]"),
        writes(APPENDED, more="exclude: {any: [{resources: {names: [b]}}]}"),
        writes(APPENDED, spec="admission: false"),
        writes(APPENDED).replace("kind: ClusterPolicy", "kind: Policy"),
        writes(APPENDED, match="any: [{resources: {kinds: [Pod], names: [a]}}]"),
        writes(APPENDED, match="any: [{resources: {kinds: [Pod]}, subjects: [{name: a}]}]"),
        writes(APPENDED, match="any: [{resources: {kinds: [Deployment]}}]"),
        writes(APPENDED, match="any: [{resources: {kinds: [Pod, $KIND]}}]"),
        writes(APPENDED, match="any: [{resources: {kinds: [Pod], operations: [UPDATE]}}]"),
        writes(
            APPENDED,
            match="any: [{resources: {kinds: [Pod], namespaces: [web]}}, "
            "{resources: {kinds: [Pod], namespaces: [ml], operations: [UPDATE]}}]",
        ),
        writes(
            APPENDED,
            match="any: [{resources: {kinds: [Service]}}, "
            "{resources: {kinds: [Pod], operations: [UPDATE]}}]",
        ),
        writes(APPENDED, match="all: [{resources: {kinds: [Pod]}}, {resources: {kinds: [Pod]}}]"),
        # Nor is it certain what these make.
        writes(add("/spec/tolerations/-", '{key: "{{request.namespace}}", operator: Exists}')),
        writes(add("/spec/tolerations/-", "team")),
        writes(add("/spec/tolerations/-", "{key: team, value: 1}")),
        writes(add("/spec/tolerations", "{key: team}")),
        writes(add("/spec/tolerations/5", OTHER)),
        writes(APPENDED, add("/spec/nodeSelector", "[a]")),
        writes(add("/spec", f"{{tolerations: [{OTHER}]}}")),
        writes(APPENDED, add("/spec/priorityClassName", "a")),
        writes(add("/spec/tolerations/-", OTHER, "replace")),
        writes(APPENDED, "{op: remove, path: /metadata/labels/a}"),
        policy_of("$MUTATE"),
        policy_of("{patchesJson6902: $PATCH}"),
        policy_of("{patchStrategicMerge: {spec: $SPEC}}"),
        policy_of(f"{{foreach: [{{list: a, patchesJson6902: [{APPENDED}]}}]}}"),
        policy_of(f"{{targets: [{{kind: Pod}}], patchesJson6902: [{APPENDED}]}}"),
        policy_of(f"{{patchStrategicMerge: {{spec: {{+(tolerations): [{OTHER}]}}}}}}"),
        policy_of(
            f"{{patchStrategicMerge: {{spec: {{(hostNetwork): true, tolerations: [{OTHER}]}}}}}}"
        ),
        policy_of(
            f"{{patchStrategicMerge: {{spec: {{tolerations: [{OTHER}, {{$patch: replace}}]}}}}}}"
        ),
    ],
)
def test_what_a_policy_may_make_is_not_known(policy: str) -> None:
    assert told(policy) == []


def test_a_policy_adds_to_what_pods_tolerate_themselves() -> None:
    own = POD.replace("      containers:", f"      tolerations: [{RIGHT}]\n      containers:")
    whole = writes(add("/spec/tolerations", f"[{OTHER}]"))
    unknown = own.replace(RIGHT, "$MINE")

    assert told(writes(APPENDED), pod=own) == []
    assert told(writes(APPENDED), pod=own.replace("value: ml", "value: a")) == ["GPU1111"]
    assert told(writes(APPENDED), pod=unknown) == []
    # Whether these go over the pod's or are added hangs on how they are merged.
    assert told(whole, pod=own.replace("value: ml", "value: a")) == []


def test_of_a_namespace_without_labels_nothing_is_certain() -> None:
    assert told(writes(APPENDED), space=SPACE.replace("{team: ml}", "$LABELS")) == []
    assert told(writes(APPENDED), space="{}") == []


@pytest.mark.parametrize("space", ["kube-system", "kyverno"])
def test_kyverno_leaves_some_namespaces_as_they_are(space: str) -> None:
    policy = writes(APPENDED, match="resources: {kinds: [Pod]}")

    assert told(policy, pod=POD.replace("namespace: ml", f"namespace: {space}")) == []


def test_in_a_namespace_that_is_not_known_no_policy_is_certain() -> None:
    policy = writes(APPENDED, match="any: [{resources: {kinds: [Pod], namespaces: ['*']}}]")

    assert told(policy) == ["GPU1111"]
    assert told(policy, pod=POD.replace("namespace: ml", "namespace: $SPACE")) == []


def test_of_parts_of_pods_a_chart_makes_what_nobody_sees() -> None:
    part = f"""\
tolerations: [{OTHER}]
resources: {{limits: {{nvidia.com/gpu: 1}}}}
"""
    policy = writes(APPENDED, match="resources: {kinds: [Pod]}")

    assert told(pod=part) == ["GPU1111"]
    assert told(policy, pod=part) == []


def test_of_two_policies_on_one_field_it_is_not_known_what_comes_out() -> None:
    selects = writes(add("/spec/nodeSelector/pool", "gpu"))

    assert told(writes(APPENDED), writes(add("/spec/tolerations/-", "{key: a}"))) == []
    assert told(writes(APPENDED), selects) == ["GPU1111"]
    assert told(selects, writes(APPENDED)) == ["GPU1111"]


def test_a_selector_that_a_policy_writes_may_be_of_no_nodes() -> None:
    tolerated = add("/spec/tolerations/-", RIGHT)

    for selector, wrong in (
        (add("/spec/nodeSelector", "{pool: web}"), True),
        (add("/spec/nodeSelector/pool", "web"), True),
        (add("/spec/nodeSelector", "{pool: gpu}"), False),
    ):
        assert told(writes(tolerated, selector)) == ["GPU1112"] * wrong
    merged = f"{{spec: {{tolerations: [{RIGHT}], nodeSelector: {{example.com/pool: web}}}}}}"
    policy = policy_of(f"{{patchStrategicMerge: {merged}}}")
    labelled = LABELLED.replace("{pool:", "{example.com/pool:")
    assert told(policy, nodes=labelled) == ["GPU1112"]
    assert told(policy.replace("web", "gpu"), nodes=labelled) == []


def test_a_pod_that_a_policy_changes_is_told_by_the_policy() -> None:
    files = {"a.yaml": f"{LABELLED}---\n{SPACE}---\n{POD}---\n{writes(APPENDED)}"}
    (found,) = [each for each in every(files.items()) if each.code == "GPU1111"]

    assert found.message == (
        "The Deployment a asks for nvidia.com/gpu and does not tolerate the taint "
        "team=ml:NoSchedule of the node group gpu, which has it. What the ClusterPolicy gpu adds "
        "to its pods is no toleration of it."
    )
    assert found.fix == (
        "Add {key: team, operator: Exists, effect: NoSchedule} to its tolerations, or have the "
        "ClusterPolicy gpu do so."
    )


def test_a_policy_of_another_scope_may_be_another_clusters(tmp_path: Path) -> None:
    files = {"dev/nodes.yaml": NODES, "dev/pod.yaml": f"{SPACE}---\n{POD}"}
    near = found_in_parts(tmp_path / "a", {**files, "dev/policy.yaml": writes(APPENDED)})
    apart = found_in_parts(tmp_path / "b", {**files, "prod/policy.yaml": writes(APPENDED)})

    assert [each.code for each in near if each.code == "GPU1111"] == ["GPU1111"]
    assert [each.code for each in apart if each.code == "GPU1111"] == []
