"""Configurations that a command gives the device plugin as the text of a file."""

from __future__ import annotations

import pytest

from eks_gpushare.inventory.items import Release
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.dispatch import lint_files, read_files
from eks_gpushare.manifests.files import GivenFile

SHARED = """\
version: v1
sharing:
  timeSlicing:
    renameByDefault: true
    resources:
    - name: nvidia.com/gpu
      replicas: 4
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
  - {name: a, image: nvcr.io/a:1, resources: {limits: {nvidia.com/gpu: 1}}}
"""
INSTALL = "helm upgrade -i nvdp nvdp/nvidia-device-plugin --version 0.17.1 -n gpu"


def codes(*files: tuple[str, str]) -> set[str]:
    reports = lint_files([GivenFile(name, text) for name, text in files])
    return {found.code for report in reports for found in report.findings}


def releases(*files: tuple[str, str]) -> list[Release]:
    found = read_files([GivenFile(name, text) for name, text in files]).items
    return [item for item in found if isinstance(item, Release) and item.name == "nvdp"]


def configurations(*files: tuple[str, str]) -> list[object]:
    """What the releases of some files have for their one configuration."""
    return [
        each["config"]["map"]["a"]
        for item in releases(*files)
        if item.of_files
        for each in (item.values, item.over)
        if isinstance(each, dict) and each
    ]


@pytest.mark.parametrize(
    ("script", "named", "file"),
    [
        ("install.sh", "shared.yaml", "shared.yaml"),
        ("scripts/install.sh", "shared.yaml", "scripts/shared.yaml"),
        ("scripts/install.sh", "./addons/shared.yaml", "addons/shared.yaml"),
        ("scripts/install.sh", "../addons/shared.yaml", "addons/shared.yaml"),
        ("scripts/install.sh", '"$SCRIPT_DIR/../addons/shared.yaml"', "addons/shared.yaml"),
        ("scripts/install.sh", '"$(dirname "$0")/shared.yaml"', "scripts/shared.yaml"),
        ("Makefile", "$(ROOT)/addons/shared.yaml", "deploy/addons/shared.yaml"),
    ],
)
def test_the_file_is_the_one_that_the_name_means(script: str, named: str, file: str) -> None:
    command = f"{INSTALL} --set-file config.map.a={named}\n"
    text = f"install:\n\t{command}" if script == "Makefile" else command

    assert configurations((script, text), (file, SHARED)) == [SHARED]


@pytest.mark.parametrize(
    ("named", "others"),
    [
        ("elsewhere.yaml", ["shared.yaml"]),
        ("/etc/shared.yaml", ["other/shared.yaml", "etc/shared.yaml"]),
        ('"$DIR/shared.yaml"', ["one/shared.yaml", "two/shared.yaml"]),
        ('"$DIR"', ["shared.yaml"]),
        ('"$DIR/../.."', ["shared.yaml"]),
        ('"shared-$KIND.yaml"', [".yaml", "a/.yaml"]),
        # The script may have gone to another folder.
        ("shared.yaml", ["shared.yaml", "gpu/shared.yaml"]),
    ],
)
def test_of_what_is_not_there_or_may_be_several_nothing_is_known(
    named: str, others: list[str]
) -> None:
    script = ("install.sh", f"{INSTALL} --set-file config.map.a={named}\n")

    assert configurations(script, *((each, SHARED) for each in others)) == [UNKNOWN]


def test_it_goes_over_values_of_a_file_that_is_not_there() -> None:
    command = f"{INSTALL} -f elsewhere.yaml --set-file config.map.a=shared.yaml\n"

    assert configurations(("install.sh", command), ("shared.yaml", SHARED)) == [SHARED]


def test_what_is_set_later_goes_over_it() -> None:
    command = f"{INSTALL} --set-file config.map.a=shared.yaml --set-string config.map.a=b\n"

    assert configurations(("install.sh", command), ("shared.yaml", SHARED)) == ["b"]


def test_an_upgrade_that_keeps_values_keeps_it() -> None:
    command = f"{INSTALL} --set-file config.map.a=shared.yaml\n{INSTALL} --reuse-values --set b=1\n"

    assert configurations(("install.sh", command), ("shared.yaml", SHARED)) == [SHARED]


def test_pods_are_held_against_what_it_says() -> None:
    script = ("scripts/install.sh", f"{INSTALL} --set-file config.map.a=addons/shared.yaml\n")
    whole = SHARED.replace("    renameByDefault: true\n", "")

    assert "GPU1204" in codes(script, ("addons/shared.yaml", SHARED), ("pods/a.yaml", POD))
    assert "GPU1204" not in codes(script, ("addons/shared.yaml", whole), ("pods/a.yaml", POD))


@pytest.mark.parametrize(
    "then",
    [
        f"cat << EOF > /tmp/a.yaml\n{SHARED}EOF\n",
        "cat << EOF >> /tmp/a.yaml\nflags: {migStrategy: none}\nEOF\n",
        "sed -i s/4/1/ /tmp/a.yaml\n",
        "yq -i '.sharing = {}' /tmp/a.yaml\n",
    ],
)
def test_what_a_script_changes_again_is_not_known(then: str) -> None:
    written = f"cat << EOF > /tmp/a.yaml\n{SHARED}EOF\n"
    command = f"{INSTALL} --set-file config.map.a=/tmp/a.yaml\n"

    assert configurations(("install.sh", written + then + command)) == [UNKNOWN]
    (known,) = releases(("install.sh", f"{written}cat /tmp/a.yaml\n{command}"))
    assert known.values["config"]["map"]["a"] == SHARED  # type: ignore[index]


def test_a_text_that_a_script_writes_has_its_variables() -> None:
    text = SHARED.replace("replicas: 4", "replicas: $SHARES")
    command = f"{INSTALL} --set-file config.map.a=a.yaml\n"

    def value(quote: str) -> object:
        written = f"SHARES=4\ncat << {quote}EOF{quote} > a.yaml\n{text}EOF\n"
        (release,) = releases(("install.sh", written + command))
        return release.values["config"]["map"]["a"]  # type: ignore[index]

    assert value("") == SHARED
    assert value("'") == text


def test_a_text_that_is_too_long_for_a_configuration_is_not_read() -> None:
    command = f"{INSTALL} --set-file config.map.a=shared.yaml\n"
    most = f"{SHARED}#{' ' * (64 * 1024 - len(SHARED) - 1)}"

    assert configurations(("install.sh", command), ("shared.yaml", most)) == [most]
    assert configurations(("install.sh", command), ("shared.yaml", f"{most} ")) == [UNKNOWN]


def test_so_they_are_if_the_script_writes_it_first() -> None:
    """As NVIDIA's README does it."""
    written = f"cat << EOF > /tmp/a.yaml\n{SHARED}EOF\n"
    command = f"{INSTALL} --set-file config.map.a=/tmp/a.yaml\n"

    assert "GPU1204" in codes(("install.sh", written + command), ("a.yaml", POD))
    assert "GPU1204" in codes(("README.md", f"```sh\n{written}{command}```\n"), ("a.yaml", POD))
