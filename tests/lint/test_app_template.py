"""Values of bjw-s' app-template, by Flux, Argo CD or in a file: the pods that they make."""

from __future__ import annotations

from typing import Any

import pytest
from linted import said

from eks_gpushare.inventory.items import Workload
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.dispatch import lint_files, read_files
from eks_gpushare.lint.readers.app_template import AppTemplateReader, _Places
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.files import GivenFile
from eks_gpushare.manifests.texts import read_texts

VALUES = """\
defaultPodOptions:
  nodeSelector: {team: ml}
  DEFAULTS
controllers:
  app:
    OWN
    pod:
      runtimeClassName: nvidia
      POD
    containers:
      app:
        image: {repository: ghcr.io/a/b, tag: 1.2.3}
        CONTAINER
persistence:
  PERSISTENCE
"""
POD = ("spec", "template", "spec")
GPUS = "resources: {limits: {nvidia.com/gpu: 1}}"
FLUX = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: app, namespace: own}
spec:
  chartRef: {kind: OCIRepository, name: app-template}
  values:
"""
NODES = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: home, region: eu-central-1, version: "1.33"}
managedNodeGroups:
  - name: gpu
    instanceType: g6.xlarge
    amiFamily: AmazonLinux2023
    minSize: 1
    maxSize: 1
    taints: [{key: team, value: ml, effect: NoSchedule}]
    labels: {nvidia.com/gpu.present: "true", team: ml}
"""


def values(
    defaults: str = "",
    own: str = "type: deployment",
    pod: str = "",
    container: str = GPUS,
    persistence: str = "{}",
) -> str:
    filled = VALUES.replace("DEFAULTS", defaults).replace("OWN", own).replace("POD", pod)
    return filled.replace("CONTAINER", container).replace("PERSISTENCE", persistence)


def workload(text: str) -> Workload:
    (made,) = (
        each
        for each in read_files([GivenFile("values.yaml", text)]).items
        if isinstance(each, Workload)
    )
    return made


def spec(text: str) -> Any:
    return workload(text).spec


def flux(text: str) -> str:
    return FLUX + "".join(f"    {line}\n" for line in text.splitlines())


@pytest.mark.parametrize(
    ("own", "kind", "replicas"),
    [
        ("type: deployment", "Deployment", 1),
        ("labels: {}", "Deployment", 1),
        ("{type: statefulset, replicas: 3}", "StatefulSet", 3),
        ("type: daemonset", "DaemonSet", None),
        ("type: cronjob", "CronJob", 1),
        ("type: job", "Job", 1),
        ("replicas: null", "Deployment", UNKNOWN),
    ],
)
def test_a_controller_is_a_workload_of_its_type(own: str, kind: str, replicas: Any) -> None:
    made = workload(values(own=own.strip("{}").replace(", ", "\n    ")))

    assert (made.kind, made.replicas, made.name) == (kind, replicas, UNKNOWN)


@pytest.mark.parametrize(
    ("given", "selector"),
    [
        (values(), {"team": "ml"}),
        (values(pod="nodeSelector: {a: b}"), {"a": "b"}),
        (
            "defaultPodOptionsStrategy: merge\n" + values(pod="nodeSelector: {a: b}"),
            {"team": "ml", "a": "b"},
        ),
        (values(pod="nodeSelector: {}"), {"team": "ml"}),
    ],
)
def test_options_of_a_pod_go_over_those_of_all(given: str, selector: Any) -> None:
    assert spec(given)["nodeSelector"] == selector


@pytest.mark.parametrize(
    ("container", "own", "image", "env"),
    [
        (GPUS, "", "ghcr.io/a/b:1.2.3", []),
        (f"{GPUS}\n        env: {{A: 1, B: {{value: c}}}}", "", "ghcr.io/a/b:1.2.3", None),
        (f"{GPUS}\n        env: [{{name: A, value: b}}]", "", "ghcr.io/a/b:1.2.3", None),
        (f"{GPUS}\n        env: ${{ENV}}", "", "ghcr.io/a/b:1.2.3", UNKNOWN),
    ],
)
def test_containers_are_by_name(container: str, own: str, image: str, env: Any) -> None:
    (made,) = spec(values(container=container, own=own or "labels: {}"))["containers"]

    assert (made["name"], made["image"]) == ("app", image)
    assert made["resources"] == {"limits": {"nvidia.com/gpu": 1}}
    if env is None:
        assert made["env"][0]["name"] == "A"
        assert made["env"][0]["value"] in ("1", "b")
    else:
        assert made["env"] == env


@pytest.mark.parametrize(
    ("line", "key", "made"),
    [
        ("env: {A: 1, B: true}", "env", [("A", "1"), ("B", "true")]),
        ("env: [{name: A, value: 8266}]", "env", [("A", "8266")]),
        ("env: {A: {value: a}}", "env", [("A", "a")]),
        ("command: run", "command", ["run"]),
        ("args: [a, b]", "args", ["a", "b"]),
        ("envFrom: [{secretRef: {name: a}}]", "envFrom", [{"secretRef": {"name": "a"}}]),
        ("envFrom: [{secret: a}]", "envFrom", [{"secretRef": {"name": UNKNOWN}}]),
        (
            "envFrom: [{configMapRef: {identifier: a}}]",
            "envFrom",
            [{"configMapRef": {"name": UNKNOWN}}],
        ),
        (
            "env: {A: {secretKeyRef: {name: a, key: b}}}",
            "source",
            {"secretKeyRef": {"name": "a", "key": "b"}},
        ),
        ("env: [{name: A, valueFrom: {fieldRef: {}}}]", "source", {"fieldRef": {}}),
        ("env: {A: {dependsOn: B, fieldRef: {}}}", "source", {"fieldRef": {}}),
    ],
)
def test_fields_of_containers_have_short_forms(line: str, key: str, made: Any) -> None:
    """As lib/container/fields of the chart has them."""
    (container,) = spec(values(container=f"{GPUS}\n        {line}"))["containers"]
    if key == "env":
        assert [(each["name"], each["value"]) for each in container["env"]] == made
    else:
        found = container["env"][0]["valueFrom"] if key == "source" else container[key]
        assert found == made


@pytest.mark.parametrize("image", ["{repository: a, tag: '${TAG}'}", "{repository: a}", "$IMAGE"])
def test_an_image_that_is_not_told_whole_is_not_known(image: str) -> None:
    text = values().replace("{repository: ghcr.io/a/b, tag: 1.2.3}", image)

    assert spec(text)["containers"][0]["image"] is UNKNOWN


def test_containers_may_be_off() -> None:
    more = "\n      kept: {enabled: true}\n      gone: {enabled: false}\n      none: null"
    text = values(container=f"{GPUS}{more}")

    assert [each["name"] for each in spec(text)["containers"]] == ["app", "kept"]


def test_options_are_merged_with_those_of_all_alone() -> None:
    merged = "defaultPodOptionsStrategy: merge\n"
    given = merged + values(pod="securityContext: {runAsUser: 1}", defaults="tolerations: [{}]")
    other = merged + values(pod="tolerations: {a: b}", defaults="tolerations: [{}]")

    assert spec(given)["securityContext"] == {"runAsUser": 1}
    assert spec(other)["tolerations"] == {"a": "b"}


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (("spec", "replicas"), ("controllers", "app", "replicas")),
        (("spec", "strategy"), ("controllers", "app")),
        (POD, ("controllers", "app")),
        ((*POD, "containers"), ("controllers", "app", "containers")),
        ((*POD, "containers", 0), ("controllers", "app", "containers", "app")),
        (
            (*POD, "containers", 0, "resources", "limits"),
            ("controllers", "app", "containers", "app", "resources", "limits"),
        ),
        ((*POD, "containers", 1, "image"), ("controllers", "app", "containers", "b", "image")),
        (
            (*POD, "containers", 0, "env", 1, "value"),
            ("controllers", "app", "containers", "app", "env"),
        ),
        ((*POD, "volumes", 0, "name"), ("persistence",)),
        ((*POD, "nodeSelector", "team"), ("defaultPodOptions", "nodeSelector", "team")),
        ((*POD, "runtimeClassName"), ("controllers", "app", "pod", "runtimeClassName")),
    ],
)
def test_what_is_made_stands_where_its_values_do(path: Any, place: Any) -> None:
    text = values(container=f"{GPUS}\n      b: {{image: {{repository: a}}}}")
    (document,) = read_texts(text, "values.yaml").documents

    assert _Places(document, "app", POD).place(path) == place


def test_an_object_of_its_own_is_none_and_nothing_is_written_back() -> None:
    (document,) = read_texts(f"apiVersion: a/v1\n{values()}", "values.yaml").documents
    (own,) = read_texts(values(), "values.yaml").documents
    (made,) = AppTemplateReader().read(own).items

    assert not AppTemplateReader().matches(document)
    assert isinstance(made.source.document, Document)
    assert not made.source.document.editable


def test_options_of_all_containers_hold_where_one_has_none() -> None:
    own = f"defaultContainerOptions: {{{GPUS}, image: {{repository: a}}}}"
    (made,) = spec(values(own=own, container="command: [run]"))["containers"]

    assert made["resources"] == {"limits": {"nvidia.com/gpu": 1}}
    assert made["image"] == "ghcr.io/a/b:1.2.3"


@pytest.mark.parametrize(
    ("persistence", "volumes", "mounts"),
    [
        (
            "shm: {type: emptyDir, medium: Memory, globalMounts: [{path: /var/shm}]}",
            [{"name": "shm", "emptyDir": {"medium": "Memory"}}],
            ["/var/shm"],
        ),
        (
            "data: {existingClaim: a, advancedMounts: {app: {app: [{path: /a}, {path: /b}]}}}",
            [{"name": "data", "persistentVolumeClaim": {"claimName": "a"}}],
            ["/a", "/b"],
        ),
        (
            "data: {existingClaim: a, advancedMounts: {other: {app: [{path: /a}]}}}",
            [{"name": "data", "persistentVolumeClaim": {"claimName": "a"}}],
            [],
        ),
        (
            "host: {type: hostPath, hostPath: /opt}",
            [{"name": "host", "hostPath": {"path": "/opt"}}],
            ["/host"],
        ),
        (
            "own: {type: custom, volumeSpec: {csi: {driver: a}}}",
            [{"name": "own", "csi": {"driver": "a"}}],
            ["/own"],
        ),
        ("media: {type: nfs, server: a}", [{"name": "media", "nfs": UNKNOWN}], ["/media"]),
        ("media: {enabled: false, type: nfs}", [], []),
    ],
)
def test_volumes_are_mounted_where_they_say(
    persistence: str, volumes: Any, mounts: list[str]
) -> None:
    made = spec(values(persistence=persistence))

    assert made["volumes"] == volumes
    assert [each["mountPath"] for each in made["containers"][0]["volumeMounts"]] == mounts


@pytest.mark.parametrize(
    ("own", "strategy"),
    [
        ("labels: {}", {"type": "Recreate"}),
        ("strategy: RollingUpdate", {"type": "RollingUpdate"}),
        (
            "strategy: RollingUpdate\n    rollingUpdate: {surge: 0, unavailable: 1}",
            {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
        ),
        (
            "strategy: RollingUpdate\n    rollingUpdate: {surge: 2}",
            {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 2}},
        ),
    ],
)
def test_the_old_pod_ends_first_unless_it_is_told(own: str, strategy: Any) -> None:
    (document,) = read_texts(values(own=own), "values.yaml").documents
    (made,) = AppTemplateReader().read(document).items

    assert made.source.document.value["spec"]["strategy"] == strategy


@pytest.mark.parametrize(
    "text",
    [
        values(container="command: [run]").replace("nvidia", "runc"),  # nothing of GPUs
        values(own="enabled: false"),
        values(own="type: other"),
        values().replace("controllers:", "containers:"),
        f"apiVersion: a/v1\nkind: Other\n{values()}",
    ],
)
def test_what_makes_no_pods_for_gpus_is_none(text: str) -> None:
    items = read_files([GivenFile("values.yaml", text)]).items

    assert [each for each in items if isinstance(each, Workload) and each.kind != "Other"] in (
        [],
        [each for each in items if "part of a pod" in each.source.name],
    )


TOLERANT = values(defaults="tolerations: [{key: team, operator: Exists}]")


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        (TOLERANT, []),
        (values(), ["GPU1111"]),
        (TOLERANT.replace("{team: ml}", "{team: other}"), ["GPU1112"]),
        (TOLERANT.replace("gpu: 1", "gpu: 0.5"), ["GPU1114"]),
    ],
)
@pytest.mark.parametrize("by", [str, flux], ids=["in a file", "by Flux"])
def test_its_pods_are_held_against_nodes(by: Any, text: str, codes: list[str]) -> None:
    told = said({"nodes.yaml": NODES, "app.yaml": by(text)})

    assert [each for each in told if each in ("GPU1111", "GPU1112", "GPU1114")] == codes


def test_values_of_which_some_stand_elsewhere_are_not_read() -> None:
    more = f"{flux(values())}  valuesFrom: [{{kind: ConfigMap, name: a}}]\n"

    assert said({"nodes.yaml": NODES, "app.yaml": more}) == []


def test_a_finding_stands_where_the_value_does() -> None:
    text = flux(TOLERANT.replace("gpu: 1", "gpu: 0.5"))
    (report,) = lint_files([GivenFile("app.yaml", text)])
    (line,) = (
        each.position.line
        for each in report.found
        if each.finding.code == "GPU1114" and each.position
    )

    assert "gpu: 0.5" in text.splitlines()[line - 1]
