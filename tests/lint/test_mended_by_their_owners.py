"""Mistakes of the kinds that people mended in their own clusters' files, each wrong and right."""

from __future__ import annotations

import pytest
from linted import every, said

from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.files import GivenFile


def told(code: str, *texts: str) -> list[tuple[str, str, str]]:
    """Severity, path and message of what is said by a code, of files beside one another."""
    files = ((f"{number}.yaml", text) for number, text in enumerate(texts))
    return [(each.severity, each.path, each.message) for each in every(files) if each.code == code]


POD = """\
apiVersion: v1
kind: Pod
metadata: {name: infer}
spec:
  affinity: AFFINITY
  containers:
    - {name: a, image: registry.example.com/a:1, resources: {limits: {nvidia.com/gpu: 1}}}
"""
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
TERM = "{matchExpressions: [{key: pool, operator: In, values: [gpu]}]}"


@pytest.mark.parametrize(
    ("affinity", "message"),
    [
        (f"{{nodeAffinity: {{{PREFERRED}: [{{weight: 1, preference: {TERM}}}]}}}}", None),
        (f"{{nodeAffinity: {{{REQUIRED}: {{nodeSelectorTerms: [{TERM}]}}}}}}", None),
        ("{podAntiAffinity: {REQ: [{topologyKey: kubernetes.io/hostname}]}}", None),
        ("{podAffinity: null, nodeAffinity: {}}", None),
        ("{nodeAffinity: {$KEY: a}}", None),
        (
            f"{{nodeAffinity: {{{PREFERRED}: {{nodeSelectorTerms: [{TERM}]}}}}}}",
            f"{PREFERRED} is a list, and one mapping stands here.",
        ),
        (f"{{nodeAffinity: {{{REQUIRED}: [{TERM}]}}}}", f"{REQUIRED} is no list."),
        (
            f"{{nodeAffinity: {{{PREFERRED}: [{{weight: 1, preference: {{a: [{TERM}]}}}}]}}}}",
            "preference has no field a.",
        ),
        (
            f"{{podAntiAffinity: {{{PREFERRED}: [{{podAffinityTerm: {{topologyKey: a}}}}]}}}}",
            f"An entry of {PREFERRED} has no weight.",
        ),
        (
            "{podAffinity: {REQ: [{weight: 9, podAffinityTerm: {topologyKey: a}}]}}",
            f"An entry of {REQUIRED} has no field weight.",
        ),
        (
            "{podAffinity: {REQ: [{labelSelector: {}}]}}",
            f"An entry of {REQUIRED} has no topologyKey.",
        ),
    ],
)
def test_an_affinity_has_the_shape_that_the_api_server_takes(
    affinity: str, message: str | None
) -> None:
    found = told("GPU1005", POD.replace("AFFINITY", affinity.replace("REQ", REQUIRED)))

    assert [each[2] for each in found] == ([message] if message else [])


def test_what_an_affinity_lacks_is_written_out() -> None:
    one = POD.replace("AFFINITY", f"{{nodeAffinity: {{{PREFERRED}: {{weight: 1}}}}}}")
    several = POD.replace("AFFINITY", f"{{nodeAffinity: {{{REQUIRED}: []}}}}")
    fixes = [
        each.fix
        for text in (one, several)
        for report in lint_files([GivenFile("a.yaml", text)])
        for each in report.findings
        if each.code == "GPU1005"
    ]

    assert fixes == [
        "Write entries, each with weight, preference.",
        "Write one mapping, with nodeSelectorTerms.",
    ]


IF = "{{- if .Values.own }}\n"
END = "{{- end }}\n"


def test_what_a_condition_encloses_may_be_there() -> None:
    pod = POD.replace(
        "AFFINITY", f"\n    podAffinity:\n      {REQUIRED}:\n        - namespaces: [a]\n"
    )
    values = "nodeSelector: {pool: gpu}\n"

    assert len(told("GPU1005", pod)) == 1
    assert told("GPU1005", pod.replace("[a]\n", f"[a]\n{IF}          topologyKey: b\n{END}")) == []
    release = PLUGIN.replace(" VALUES", f"\n    {values}")
    assert len(told("GPU1101", release)) == 1
    assert told("GPU1101", f"{release}{IF}    affinity: null\n{END}") == []


def test_values_have_words_of_a_charts_own_below_affinity() -> None:
    words = "affinity: {nodeAffinity: {type: hard}}\nresources: {limits: {nvidia.com/gpu: 1}}\n"
    wrong = words.replace("type: hard", f"{REQUIRED}: []")

    assert told("GPU1005", words) == []
    assert [each[1] for each in told("GPU1005", wrong)] == [f"affinity.nodeAffinity.{REQUIRED}"]


@pytest.mark.parametrize("other", ["5", "$PODS", "[a]", "null", "true"])
def test_values_may_have_anything_beside_an_affinity(other: str) -> None:
    node = f"nodeAffinity: {{{REQUIRED}: {{nodeSelectorTerms: []}}}}"
    asks = "resources: {limits: {nvidia.com/gpu: 1}}"
    values = f"affinity: {{{node}, podAffinity: {other}}}\n{asks}\n"
    (report,) = lint_files([GivenFile("values.yaml", values)])

    assert "GPU012" not in {finding.code for finding in report.findings}


APP = """\
controllers:
  infer:
    OWN
    containers:
      app: {image: {repository: a, tag: 1.2.3}, resources: {limits: {nvidia.com/gpu: 1}}}
"""


@pytest.mark.parametrize(
    ("own", "beside", "places"),
    [
        ("pod: {nodeSelector: {a: b}}", "defaultPodOptions: {hostNetwork: true}", []),
        ("nodeSelector: {a: b}", "", ["controllers.infer.nodeSelector"]),
        ("runtimeClassName: nvidia", "", ["controllers.infer.runtimeClassName"]),
        ("replicas: 1", "affinity: {nodeAffinity: {}}", ["affinity"]),
        ("replicas: 1", "pod: {nodeSelector: {a: b}}", ["pod"]),
        ("nodeSelector: {}", "tolerations: []", []),
        ("pod: {nodeSelector: {a: b}}", "nodeSelector: {a: b}", []),
        ("pod: {nodeSelector: {a: b}}", "pod: {nodeSelector: {a: b}}", []),
    ],
)
def test_app_template_has_options_of_pods_in_two_places(
    own: str, beside: str, places: list[str]
) -> None:
    found = told("GPU1005", f"{APP.replace('OWN', own)}{beside}\n")

    assert [each[1] for each in found] == places
    assert all("app-template, which has it under" in each[2] for each in found)


def test_where_options_of_pods_belong_is_written_out() -> None:
    own = APP.replace("OWN", "nodeSelector: {a: b}").replace("infer", "a")
    beside = f"{own}pod: {{hostNetwork: true}}\n"
    found = [
        (each.message, each.fix)
        for report in lint_files([GivenFile("values.yaml", beside)])
        for each in report.findings
        if each.code == "GPU1005"
    ]

    assert found == [
        (
            "nodeSelector is not read in the controller a of app-template, which has it under pod.",
            "Move it under pod.",
        ),
        (
            "pod is not read in the values of app-template, which has it under defaultPodOptions.",
            "Move what it has under defaultPodOptions.",
        ),
    ]


PLUGIN = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: nvidia-device-plugin, namespace: gpu}
spec:
  chart:
    spec: {chart: nvidia-device-plugin, version: 0.17.1}
  values: VALUES
"""
NFD = PLUGIN.replace("nvidia-device-plugin", "node-feature-discovery").replace("0.17.1", "0.18.3")


@pytest.mark.parametrize(
    ("values", "count"),
    [
        ("{nodeSelector: {pool: gpu}}", 1),
        ("{nodeSelector: {feature.node.kubernetes.io/pci-0302_10de.present: 'true'}}", 1),
        ("{nodeSelector: {pool: gpu}, affinity: {}}", 1),
        ("{nodeSelector: {pool: gpu}, affinity: null}", 0),
        ("{nodeSelector: {nvidia.com/gpu.present: 'true'}}", 0),
        ("{nodeSelector: {feature.node.kubernetes.io/pci-10de.present: 'true'}}", 0),
        ("{nodeSelector: {pool: gpu}, gfd: {enabled: true}}", 0),
        ("{nodeSelector: {pool: gpu}, gfd: {enabled: true}, nfd: {enabled: false}}", 1),
        ("{nodeSelector: {pool: ${POOL}}}", 0),
        ("{}", 0),
    ],
)
def test_a_plugins_own_selector_comes_on_top_of_its_charts_affinity(
    values: str, count: int
) -> None:
    found = told("GPU1101", PLUGIN.replace("VALUES", values))

    assert [each[0] for each in found] == ["info"] * count
    old = PLUGIN.replace("0.17.1", "0.14.5").replace("VALUES", values)
    assert told("GPU1101", old) == []


def test_who_labels_the_plugins_nodes_may_be_there() -> None:
    plugin = PLUGIN.replace("VALUES", "{nodeSelector: {pool: gpu}}")
    vendors = "{worker: {config: {sources: {pci: {deviceLabelFields: [vendor]}}}}}"

    assert told("GPU1101", plugin, NFD.replace("VALUES", vendors)) == []
    assert len(told("GPU1101", plugin, NFD.replace("VALUES", "{worker: {tolerations: []}}"))) == 1


OPERATOR = PLUGIN.replace("nvidia-device-plugin", "gpu-operator").replace("0.17.1", "v25.3.0")


@pytest.mark.parametrize(
    ("sources", "codes"),
    [
        ("[custom, pci, usb]", ["warning"]),
        ("[pci, system]", []),
        ("[all]", []),
        ("[pci, ${MORE}]", []),
        ("[]", []),
    ],
)
@pytest.mark.parametrize("key", ["sources", "labelSources"])
def test_the_operator_asks_nfd_for_the_system_of_a_node(
    key: str, sources: str, codes: list[str]
) -> None:
    values = f"{{worker: {{config: {{core: {{{key}: {sources}}}}}}}}}"
    operator = OPERATOR.replace("VALUES", "{nfd: {enabled: false}}")
    own = OPERATOR.replace("VALUES", f"{{node-feature-discovery: {values}}}")

    assert [each[0] for each in told("GPU1101", operator, NFD.replace("VALUES", values))] == codes
    assert [each[0] for each in told("GPU1101", own)] == codes
    assert told("GPU1101", NFD.replace("VALUES", values)) == []


EXPORTER = PLUGIN.replace("nvidia-device-plugin", "dcgm-exporter").replace("0.17.1", "4.4.0")


def test_an_exporter_needs_the_runtime_that_the_plugin_needs() -> None:
    named, bare = "{runtimeClassName: nvidia}", "{serviceMonitor: {enabled: true}}"
    plugin = PLUGIN.replace("VALUES", named)

    ((severity, _, message),) = told("GPU1389", plugin, EXPORTER.replace("VALUES", bare))
    assert severity == "warning"
    assert "has nvidia, so that another runtime is the default." in message
    assert told("GPU1389", plugin, EXPORTER.replace("VALUES", named)) == []
    assert told("GPU1389", PLUGIN.replace("VALUES", "{}"), EXPORTER.replace("VALUES", bare)) == []


MODEL = """\
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: coder}
spec:
  predictor:
    OWN
    model:
      modelFormat: {name: huggingface}
      resources: {limits: {nvidia.com/gpu: 1}}
"""
CLASS = """\
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: nvidia}
handler: nvidia
"""


def test_the_pod_of_a_model_has_what_stands_beside_it() -> None:
    plugin = PLUGIN.replace("VALUES", "{runtimeClassName: nvidia}")
    user = POD.replace("affinity: AFFINITY", "runtimeClassName: nvidia")
    own = MODEL.replace("OWN", "runtimeClassName: nvidia")

    assert told("GPU1389", plugin, user, CLASS, own) == []
    assert len(told("GPU1389", plugin, user, CLASS, MODEL.replace("OWN", "minReplicas: 1"))) == 1
    assert told("GPU1389", plugin, MODEL.replace("OWN", "minReplicas: 1")) == []


GROUP = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: a, region: eu-central-1, version: "1.33"}
nodeGroups:
  - name: gpu
    instanceType: g6.xlarge
    minSize: 0
    maxSize: 2
    taints: [{key: nvidia.com/gpu, value: "true", effect: NoSchedule}]
    tags:
      k8s.io/cluster-autoscaler/node-template/taint/nvidia.com/gpu: "VALUE"
      k8s.io/cluster-autoscaler/node-template/label/pool: gpu
"""


@pytest.mark.parametrize(
    ("value", "count"),
    [
        ("true:NoSchedule", 0),
        (":NoExecute", 0),
        ("${VALUE}", 0),
        ("true", 1),
        ("NoSchedule", 1),
        ("nvidia.com/gpu=true", 1),
    ],
)
def test_a_tag_of_a_taint_has_an_effect(value: str, count: int) -> None:
    assert len(told("GPU1292", GROUP.replace("VALUE", value))) == count


SERVICE = """\
apiVersion: serving.knative.dev/v1
kind: Service
metadata: {name: a, namespace: b}
spec:
  template:
    spec:
      nodeSelector: {pool: gpu}
      containers: [{image: a, resources: {limits: {nvidia.com/gpu: 1}}}]
"""
FLAGS = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: config-features, namespace: knative-serving}
data: {_example: "kubernetes.podspec-nodeselector: disabled"}
"""


def test_knatives_flags_are_off_as_they_come() -> None:
    on = FLAGS.replace("{_example", "{kubernetes.podspec-nodeselector: enabled, _example")

    assert [each[0] for each in told("GPU1256", FLAGS, SERVICE)] == ["info"]
    assert told("GPU1256", on, SERVICE) == []
    assert told("GPU1256", FLAGS.replace("_example", "other"), SERVICE) == []
    assert told("GPU1256", FLAGS, SERVICE.replace("serving.knative.dev", "example.com")) == []


def test_flags_that_knatives_operator_is_told() -> None:
    operators = (
        "apiVersion: operator.knative.dev/v1beta1\nkind: KnativeServing\nmetadata: {name: a}\n"
        "spec: {config: {features: {kubernetes.podspec-tolerations: enabled}}}\n"
    )
    on = operators.replace("tolerations", "nodeselector")
    off = operators.replace("tolerations: enabled", "nodeselector: disabled")
    place = 'spec.config.features["kubernetes.podspec-nodeselector"]'

    assert [each[0] for each in told("GPU1256", operators, SERVICE)] == ["error"]
    assert told("GPU1256", operators.replace("features", "config-features"), SERVICE)
    for right in (on, operators.replace("features", "network"), off.replace("operator.", "a.")):
        assert told("GPU1256", right, SERVICE) == []
    (file,) = lint_files([GivenFile("a.yaml", f"{off}---\n{SERVICE}")])
    assert [each.path for each in file.findings if each.code == "GPU1256"] == [place]


SCRIPT = """\
apiVersion: v1
kind: Pod
metadata: {name: infer}
spec:
  containers:
    - name: a
      image: registry.example.com/a:1
      command: [sh, -c]
      resources: {limits: {nvidia.com/gpu: 1}}
      args:
        - |
          FIRST
            --port 80
"""


@pytest.mark.parametrize(
    ("first", "count"),
    [
        ("serve --model m", 1),
        ("serve --model m \\", 0),
        ("serve --message '", 0),
        ("OPTIONS=(", 0),
        ("cat <<EOF", 0),
        ("serve --message 'a'", 1),
    ],
)
def test_no_line_of_a_script_begins_with_an_option(first: str, count: int) -> None:
    found = told("GPU1386", SCRIPT.replace("FIRST", first))

    assert [each[1] for each in found] == ["spec.containers[0].command"] * count
    assert all("begins a line of its script with --port 80" in each[2] for each in found)


def test_a_shell_may_have_its_script_elsewhere() -> None:
    script = SCRIPT.replace("FIRST", "serve --model m")
    in_args = script.replace("command: [sh, -c]", "tty: true").replace(
        "- |", "- sh\n        - -c\n        - |"
    )

    assert [each[1] for each in told("GPU1386", in_args)] == ["spec.containers[0].args"]
    assert told("GPU1386", script.replace("[sh, -c]", "[sh]")) == []
    assert told("GPU1386", script.partition("      args")[0]) == []


OBJECT = '{\n  "apiVersion": "v1",\n  "kind": "Secret",\n  "metadata": {"name": "NAME"}\n}\n'


def test_objects_of_json_may_stand_one_after_another() -> None:
    pod = POD.replace("affinity: AFFINITY", "hostIPC: true")
    json = OBJECT + OBJECT.replace("Secret", "Pod").replace(
        '"metadata"', '"spec": {"containers": [{"name": "a", "gpu": 1}]}, "metadata"'
    )

    assert said({"a.yml": OBJECT + OBJECT.replace("NAME", "b")}) == []
    assert said({"a.yml": json}) == ["GPU1005"]
    assert said({"a.yml": f"{OBJECT}---\n{pod}"}) == []
    assert said({"a.yml": f"{OBJECT} {OBJECT}"}) == ["GPU1000"]
