"""What one of several files of variables alone makes wrong of a root module is told with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eks_gpushare.lint.declared import Declared
from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.files import GivenFile

if TYPE_CHECKING:
    from eks_gpushare.findings.finding import Finding

ROOT = """\
variable "types" { type = list(string) }
variable "layout" {
  type    = string
  default = "all-disabled"
}
variable "size" {
  type    = number
  default = 2
}
resource "aws_eks_node_group" "cut" {
  count           = var.size > 0 ? 1 : 0
  cluster_name    = "a"
  node_group_name = "cut"
  ami_type        = "AL2023_x86_64_NVIDIA"
  instance_types  = var.types
  labels          = { "nvidia.com/mig.config" = var.layout }
}
"""
WHOLE = 'types = ["g6e.xlarge"]\n'
CUT = 'types = ["p4de.24xlarge"]\nlayout = "all-1g.10gb"\n'
WRONG = WHOLE + 'layout = "all-1g.10gb"\n'
ENVS = "tf/envs/{}/terraform.tfvars"


def told(files: dict[str, str], declared: Declared | None = None) -> list[Finding]:
    given = [GivenFile(*each) for each in {"tf/main.tf": ROOT, **files}.items()]
    reports = lint_files(given, declared=declared)
    return [one for each in reports for one in each.findings if one.severity != "info"]


def envs(**texts: str) -> dict[str, str]:
    return {ENVS.format(name): text for name, text in texts.items()}


def test_a_layout_that_one_environment_has_no_gpus_for_is_told_with_its_file() -> None:
    (found,) = told(envs(dev=WHOLE, test=CUT, prod=WRONG))

    assert (found.code, found.severity) == ("GPU1130", "error")
    assert found.message == (
        "Aws_eks_node_group.cut[0] is to have the MIG layout all-1g.10gb on g6e.xlarge. The L40S "
        "in g6e.xlarge has no MIG. So it is with envs/prod/terraform.tfvars."
    )


@pytest.mark.parametrize("file", ["tf/{}.tfvars", "tf/vars/{}.tfvars", "tf/{}/own.tfvars"])
def test_such_files_lie_where_somebody_keeps_them(file: str) -> None:
    files = {file.format("a"): CUT, file.format("b"): WRONG}

    assert [each.code for each in told(files)] == ["GPU1130"]
    assert told(files)[0].message.endswith(f" So it is with {file.format('b')[3:]}.")


def test_it_is_told_once_of_several() -> None:
    found = told(envs(a=CUT, b=WRONG, c=WRONG + "size = 3\n"))

    assert [each.message.partition("So it is")[2] for each in found] == [
        " with envs/b/terraform.tfvars and envs/c/terraform.tfvars."
    ]


@pytest.mark.parametrize(
    "files",
    [
        pytest.param(envs(a=CUT, b=WRONG + "size = 0\n"), id="switched off there"),
        pytest.param(envs(b=WRONG.replace(WHOLE, ""), a=CUT), id="not all that must be given"),
        pytest.param(envs(a=CUT, b=WRONG + "other = 1\n"), id="of another root"),
        pytest.param(envs(a=CUT, b=WHOLE), id="right in each"),
        pytest.param({f"tf/{n}.tfvars": WRONG if n else CUT for n in range(13)}, id="too many"),
        pytest.param(
            {**envs(a=CUT, b=WRONG), "tf/terraform.tfvars": WHOLE}, id="nothing must be given"
        ),
        pytest.param({**envs(a=CUT, b=WRONG), "tf/envs/b/main.tf": ROOT}, id="of a root there"),
    ],
)
def test_nothing_is_told_where_files_may_be_no_environments(files: dict[str, str]) -> None:
    assert not any("So it is with" in each.message for each in told(files))


def test_twelve_files_are_looked_at() -> None:
    files = {f"tf/{number}.tfvars": WRONG if number else CUT for number in range(12)}

    assert [each.code for each in told(files)] == ["GPU1130"]


def test_what_is_wrong_whichever_file_is_named_is_told_without_them() -> None:
    own = {"tf/main.tf": ROOT.replace('"all-disabled"', '"all-1g.10gb"')}
    found = told({**own, **envs(a=WHOLE, b=WHOLE + "size = 3\n")})

    assert [each.message.count("So it is") for each in found] == [0]


def test_values_of_a_file_that_is_taken_by_itself_hold_beside_them() -> None:
    files = {**envs(a=WHOLE, b=CUT[: CUT.index("\n") + 1]), "tf/a.auto.tfvars": CUT[-23:]}

    assert files["tf/a.auto.tfvars"] == 'layout = "all-1g.10gb"\n'
    assert [each.message.rpartition(" ")[2] for each in told(files)] == ["envs/a/terraform.tfvars."]


@pytest.mark.parametrize(
    ("name", "written", "codes"),
    [
        ("ask.sh", "terraform.tfvars", []),
        ("ask.sh", "notes.txt", ["GPU1130"]),
        ("ask.txt", "terraform.tfvars", ["GPU1130"]),
    ],
)
def test_what_a_script_asks_for_is_not_known_with_any_file(
    name: str, written: str, codes: list[str]
) -> None:
    asks = f"cat > {written} <<EOF\nlayout = $LAYOUT\nEOF\n"
    text = ROOT.replace('"all-disabled"', '"all-1g.10gb"')
    files = {**envs(a=CUT.partition("\n")[0], b=WHOLE), "tf/main.tf": text}

    assert [each.code for each in told({**files, f"tf/{name}": asks})] == codes


POD = """\
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: b}
spec:
  containers: [{name: a, image: a, resources: {limits: {nvidia.com/mig-1g.10gb: 1}}}]
"""


def test_pods_may_be_of_other_environments() -> None:
    found = told({**envs(a=CUT, b=WHOLE), "pod.yaml": POD}, Declared(together=True))

    assert found == []


IN_ROOT = """\
resource "kubernetes_manifest" "pod" {
  manifest = {
    apiVersion = "v1"
    kind       = "Pod"
    metadata   = { name = "a", namespace = "b" }
    spec = {
      containers = [{
        name      = "a"
        image     = "a"
        resources = { limits = { "nvidia.com/mig-1g.10gb" = 1 } }
      }]
    }
  }
}
"""


def test_those_of_the_module_itself_are_of_each() -> None:
    found = told({**envs(a=CUT, b=WHOLE), "tf/main.tf": ROOT + IN_ROOT})

    assert [each.code for each in found] == ["GPU1110"]
    assert found[0].message.endswith(" So it is with envs/b/terraform.tfvars.")


CONFIGURED = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: shares, namespace: gpu}
data:
  four: "version: v1"
"""
RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: nvidia-device-plugin, namespace: gpu}
spec:
  chart: {spec: {chart: nvidia-device-plugin, version: 0.17.1}}
  values: {config: {name: shares, default: four}}
"""


def test_what_lies_beside_the_module_counts_and_what_is_not_certain_is_not_told() -> None:
    by_key = ROOT.replace("nvidia.com/mig.config", "nvidia.com/device-plugin.config")
    by_key += 'resource "aws_eks_node_group" "other" {\n  instance_types = [var.types[5]]\n}\n'
    files = {
        "tf/main.tf": by_key,
        "a.yaml": CONFIGURED + "---\n" + RELEASE,
        **envs(a=WHOLE + 'layout = "four"\n', b=WHOLE + 'layout = "eight"\n'),
    }
    given = [GivenFile(*each) for each in files.items()]
    reports = lint_files(given, declared=Declared(together=True))
    found = [one for each in reports for one in each.findings if one.message.count("So it is with")]

    assert [(each.code, each.severity) for each in found] == [("GPU1122", "error")]
    assert found[0].message.endswith(" So it is with envs/b/terraform.tfvars.")


def test_a_file_called_as_terraforms_own_is_named_where_terraform_does_not_run() -> None:
    text = ROOT.replace("list(string) }", 'list(string)\n  default = ["g6e.xlarge"]\n}')
    own = {"tf/main.tf": text.replace('"all-disabled"', '"all-1g.10gb"')}

    assert [each.code for each in told(own)] == ["GPU1130"]
    assert told({**own, "tf/prod/terraform.tfvars": 'types = ["p4de.24xlarge"]\n'}) == []


CHART = """\
resource "helm_release" "plugin" {
  name       = "plugin"
  repository = "https://nvidia.github.io/k8s-device-plugin"
  chart      = "nvidia-device-plugin"
  version    = "0.17.1"
  namespace  = "gpu"
  values     = [yamlencode({ config = { name = var.layout } })]
}
"""


def test_what_may_stand_elsewhere_is_not_told_of_one_file() -> None:
    def said(**files: str) -> list[tuple[str, str, bool]]:
        given = [GivenFile(name.replace("__", "."), text) for name, text in files.items()]
        found = [one for each in lint_files(given) for one in each.findings]
        return [(each.code, each.severity, "So it is" in each.message) for each in found]

    text = ROOT.partition('resource "')[0] + CHART
    default = text.replace('"all-disabled"', '"shares"')
    one, other = WHOLE + 'layout = "one"\n', WHOLE + 'layout = "other"\n'

    assert ("GPU1120", "info", False) in said(main__tf=default)
    assert not any(told for *_, told in said(main__tf=text, a__tfvars=one, b__tfvars=other))


TAINTED = """\
variable "key" {
  type    = string
  default = "nvidia.com/gpu"
}
variable "types" { type = list(string) }
resource "aws_eks_node_group" "cut" {
  cluster_name    = "a"
  node_group_name = "cut"
  ami_type        = "AL2023_x86_64_NVIDIA"
  instance_types  = var.types
  taint {
    key    = var.key
    value  = "true"
    effect = "NO_SCHEDULE"
  }
}
resource "helm_release" "nvdp" {
  name       = "nvdp"
  repository = "https://nvidia.github.io/k8s-device-plugin"
  chart      = "nvidia-device-plugin"
  version    = "0.17.0"
}
"""
TYPES = 'types = ["g5.xlarge"]\n'
ANOTHER = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: nvdp-two, namespace: kube-system}
spec:
  selector: {matchLabels: {name: nvdp}}
  template:
    metadata: {labels: {name: nvdp}}
    spec:
      tolerations: [{operator: Exists, effect: NoSchedule}]
      containers:
      - {name: c, image: "nvcr.io/nvidia/k8s-device-plugin:v0.17.0"}
"""


@pytest.mark.parametrize(
    ("beside", "scopes", "severity"),
    [
        ({}, {}, "error"),
        ({"other/ds.yaml": ANOTHER}, {}, "info"),
        ({"other/ds.yaml": ANOTHER}, {"tf": ("tf",), "other": ("other",)}, "error"),
    ],
)
def test_what_lies_nearby_makes_a_note_of_it_unless_scopes_are_declared(
    beside: dict[str, str], scopes: dict[str, tuple[str, ...]], severity: str
) -> None:
    files = {"tf/main.tf": TAINTED, **envs(dev=TYPES, prod=f'{TYPES}key = "dedicated"\n')}
    given = [GivenFile(*each) for each in {**files, **beside}.items()]
    reports = lint_files(given, declared=Declared(paths=scopes))
    found = [one for each in reports for one in each.findings if one.code == "GPU1100"]

    assert [each.severity for each in found if "envs/prod" in each.message] == [severity]
