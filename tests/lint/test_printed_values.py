"""Texts for switches that a template only writes out, and what a script hands to `helm` in a pipe.

The releases are those of the tags of NVIDIA/gpu-operator.
"""

from __future__ import annotations

import pytest
from linted import found, said

from eks_gpushare.catalog.printed_values import is_printed
from eks_gpushare.inventory.items import Release
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.dispatch import read_files
from eks_gpushare.manifests.files import GivenFile


@pytest.mark.parametrize(
    ("place", "value", "version", "is_so"),
    [
        ("dcgm.enabled", "false", "", True),  # which no release asks for
        ("dcgm.enabled", "true", "26.7.0", True),
        ("dcgm.enabled", "False ", "26.7.0", False),
        ("dcgm.enabled", "no", "24.9.0", False),
        ("dcgm.image", "false", "26.7.0", False),
        ("driver.enabled", "false", "25.10.0", True),
        ("driver.enabled", "false", "25.10.1", False),
        ("driver.enabled", "false", "", False),  # the newest
        ("driver.enabled", "false", None, True),
        ("cdi.enabled", "true", "25.10.1", True),
        ("cdi.enabled", "true", "26.3.0", False),
        ("toolkit.enabled", "false", "26.3.3", True),
        ("toolkit.enabled", "false", "26.7.0", False),
    ],
)
def test_a_text_does_what_a_switch_does_where_it_is_written_out(
    place: str, value: str, version: str | None, is_so: bool
) -> None:
    assert is_printed("gpu-operator", tuple(place.split(".")), value, version) is is_so


def test_of_other_charts_it_is_not_known() -> None:
    assert not is_printed("nvidia-device-plugin", ("gfd", "enabled"), "false", "0.15.0")


APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: gpu-operator}
spec:
  destination: {namespace: gpu-operator}
  source:
    chart: gpu-operator
    targetRevision: VERSION
    helm: {valuesObject: {driver: {enabled: "false"}}}
"""


@pytest.mark.parametrize(
    ("version", "wrong"),
    [("v24.9.2", False), ("v25.10.1", True), ("v26.7.0", True), ("{{ version }}", False)],
)
def test_the_version_decides_it(version: str, wrong: bool) -> None:
    text = APPLICATION.replace("VERSION", version)

    assert ("GPU1036" in said({"application.yaml": text})) is wrong


SCRIPT = """\
install() {
  local helm="/snap/bin/helm" version="VERSION"
  local chart="${1%/}/CHART"
  cat <<EOF | "${helm}" install gpus "${chart}" --version="${version}" -n gpu-operator FLAG
driver: {enabled: "false", usePrecompild: true}
toolkit: {enabled: false}
migManager: {enabled: false}
EOF
}
"""


def script(version: str = "v24.9.2", chart: str = "gpu-operator.tgz", flag: str = "-f -") -> str:
    return SCRIPT.replace("VERSION", version).replace("CHART", chart).replace("FLAG", flag)


def releases(text: str) -> list[tuple[object, str, object]]:
    items = read_files([GivenFile("up.sh", text)]).items
    found = [each for each in items if isinstance(each, Release)]
    return [(each.name, each.chart, each.version) for each in found]


@pytest.mark.parametrize(("version", "wrong"), [("v24.9.2", False), ("v25.10.1", True)])
def test_what_a_pipe_hands_to_helm_is_of_the_version_that_it_installs(
    version: str, wrong: bool
) -> None:
    codes = {code for _, code in spots(script(version))}

    assert codes == ({"GPU1034", "GPU1036"} if wrong else {"GPU1034"})


def spots(text: str) -> list[tuple[str, str]]:
    return [(each.severity, each.code) for each in found([("up.sh", text)])]


def test_an_archive_is_called_like_its_chart() -> None:
    assert releases(script()) == [("gpus", "gpu-operator", "v24.9.2")]
    assert releases(script(chart="gpu-operator-v25.3.0.tgz")) == [
        ("gpus", "gpu-operator", "v25.3.0")
    ]


@pytest.mark.parametrize("chart", ["gpu-operator", "${name}.tgz"])
def test_a_folder_that_is_not_known_may_hold_any_chart(chart: str) -> None:
    """Its values are those of a chart that they look like, in no version that is known."""
    assert releases(script(chart=chart)) == [(UNKNOWN, "gpu-operator", "")]


def test_values_that_no_flag_takes_are_none_of_the_release() -> None:
    assert releases(script(flag="")) == [
        ("gpus", "gpu-operator", "v24.9.2"),
        (UNKNOWN, "gpu-operator", ""),
    ]


def test_a_pipe_ends_at_the_next_command() -> None:
    """What another one hands on, which is not seen, is not what stood in the pipe before."""
    other = "envsubst < values.yaml | helm install b ./gpu-operator.tgz --version v25.10.1 -f -\n"
    first = "cat <<EOF | tee /dev/null\ndriver: {enabled: 'false'}\nEOF\n"
    wrong = first + other.replace("envsubst < values.yaml | ", "")

    assert "GPU1036" not in {code for _, code in spots(first + other)}
    assert "GPU1036" not in {code for _, code in spots(wrong)}
    whole = first.replace("tee /dev/null", "envsubst | " + other.partition("| ")[2].strip())
    assert "GPU1036" in {code for _, code in spots(whole)}


POD = """\
cat <<EOF | kubectl apply -f -
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec: {containers: [{name: a, image: b, resources: {limits: {nvidia.com/gpu: 0.5}}}]}
EOF
"""


def test_all_that_pipes_hand_on_is_read_once() -> None:
    text = POD.replace("NAME", "a") + script() + POD.replace("NAME", "b") + POD.replace("NAME", "c")

    assert [code for _, code in spots(text) if code == "GPU1114"] == ["GPU1114"] * 3
    assert releases(text) == [("gpus", "gpu-operator", "v24.9.2")]
