"""What findings about charts say and advise, and values that are right though they look alike."""

from __future__ import annotations

from typing import Any

import pytest
from finding_examples import base, checked, stack_file_text

from eks_gpushare.catalog import eks_versions, versions
from eks_gpushare.config.base import TakesOutput
from eks_gpushare.documents.helm import merge_values

OPERATOR = {"gpuStack": {"manager": "gpuOperator"}}
EXISTING = {
    "cluster": {"existing": {"name": "demo"}, "name": None, "version": None, "admins": None},
    "network": None,
}
SCALED: dict[str, Any] = {
    "clusterAutoscaler": {},
    "pools": {"gpu": {"scaledBy": "autoscaler"}},
}
SLICES = {"mode": "timeSlicing", "replicas": 4}
MPS = {"mode": "mps", "replicas": 4}
RELEASE = "1.35.8-20260930"
DIGEST = f"sha256:{'a' * 64}"
LATER = TakesOutput().checked_as


def said(fragment: dict[str, Any], code: str) -> list[tuple[str, str]]:
    """Message and fix of the findings of a code."""
    report = checked(stack_file_text(merge_values(base(), fragment)))
    return [(f.message, f.fix) for f in report.findings if f.code == code]


def plugin(**chart: Any) -> dict[str, Any]:
    return {"charts": {"devicePlugin": chart}}


def operator(**chart: Any) -> dict[str, Any]:
    return {**OPERATOR, "charts": {"gpuOperator": chart}}


def autoscaler(**chart: Any) -> dict[str, Any]:
    return {**SCALED, "charts": {"clusterAutoscaler": chart}}


def values(**given: Any) -> dict[str, Any]:
    return plugin(values=given)


# --- kinds of values --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message", "fix"),
    [
        (
            values(failOnInitError="no"),
            'failOnInitError is true or false, not "no".',
            "Write false without quotes.",
        ),
        (
            values(failOnInitError=" Yes"),
            'failOnInitError is true or false, not " Yes".',
            "Write true without quotes.",
        ),
        (
            values(failOnInitError="12345678"),
            'failOnInitError is true or false, not "12345678".',
            "Write false without quotes.",
        ),
        (
            values(failOnInitError="123456789"),
            "failOnInitError is true or false, not a text.",
            "Write false without quotes.",
        ),
        (
            values(failOnInitError=1),
            "failOnInitError is true or false, not 1.",
            "Write true or false.",
        ),
        (
            values(failOnInitError=[True]),
            "failOnInitError is true or false, not a list.",
            "Write true or false.",
        ),
        (
            values(failOnInitError={"a": 1}),
            "failOnInitError is true or false, not a mapping.",
            "Write true or false.",
        ),
        (
            values(imagePullSecrets="mirror"),
            'imagePullSecrets is a list, not "mirror".',
            "Write it as a list, in [ ].",
        ),
        (
            values(imagePullSecrets={"name": "mirror"}),
            "imagePullSecrets is a list, not a mapping.",
            "Write it as a list, in [ ].",
        ),
        (
            operator(values={"dcgm": {"env": {"NAME": "value"}}}),
            "dcgm.env is a list, not a mapping.",
            "Write a list of {name: ..., value: ...}.",
        ),
        (
            operator(values={"dcgm": {"env": "A=b"}}),
            'dcgm.env is a list, not "A=b".',
            "Write it as a list, in [ ].",
        ),
        (
            values(resources="1Gi"),
            'resources is a mapping, not "1Gi".',
            "Write keys with values, in { }.",
        ),
        (
            values(image={"tag": 0.20}),
            "image.tag is text, not 0.2.",
            "Put it in quotes.",
        ),
        (
            values(nfd={"gc": {"replicaCount": "two"}}),
            'nfd.gc.replicaCount is a number, not "two".',
            "Write a number.",
        ),
    ],
)
def test_a_value_of_another_kind(given: dict[str, Any], message: str, fix: str) -> None:
    assert said(given, "GPU727") == [(message, fix)]


@pytest.mark.parametrize("value", [None, LATER])
@pytest.mark.parametrize("key", ["failOnInitError", "imagePullSecrets", "resources"])
def test_what_is_not_known_is_of_any_kind(key: str, value: Any) -> None:
    assert said(values(**{key: value}), "GPU727") == []


# --- values that do nothing -------------------------------------------------------------------


ONE = "The chart reads compatWithCPUManager."


@pytest.mark.parametrize(
    ("given", "code", "fix"),
    [
        (
            *(values(nfd=True), "GPU711"),
            (
                "Give what is in it, such as checksumValuesOnly, enabled, featureGates, "
                "fullnameOverride, gc."
            ),
        ),
        (values(gfd={"sleepInterval": "30s"}), "GPU712", "Use `sleepInterval` at the top."),
        (values(gfd={"noTimestamp": True}), "GPU712", "Use `noTimestamp` at the top."),
        (values(gfd={"nameOverride": "gfd"}), "GPU712", "Remove it."),
        (values(**{"nfd.enabld": True}), "GPU711", "Remove it."),
        (values(nfd={"compatWithCPUManager": True}), "GPU711", ONE),
        (
            *(values(mps={"priorityClassName": "x"}), "GPU711"),
            (
                "The chart reads nfd.priorityClassName and nfd.worker.priorityClassName and "
                "priorityClassName."
            ),
        ),
        (values(mps={"dnsPolicy": "x"}), "GPU711", "Remove it."),
        (values(gfd={"hostNetwork": True}), "GPU711", "Did you mean gfd.enableHostNetwork?"),
    ],
)
def test_a_value_that_does_nothing(given: dict[str, Any], code: str, fix: str) -> None:
    assert [each for _, each in said(given, code)] == [fix]


# --- images -----------------------------------------------------------------------------------

ADDRESS = "it is an address, and images are named without https://"
TAG = "it has a tag in it"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            values(image={"tag": DIGEST}),
            f'"{DIGEST}" is not a tag: the chart writes a colon before it, and not an @.',
        ),
        (
            values(image={"tag": "a b"}),
            (
                '"a b" is not a tag: a tag is up to 128 letters, digits and _ . -, and does not '
                "begin with . or -."
            ),
        ),
        (
            values(image={"repository": "https://robot:p@ss@example.com/plugin"}),
            f'"example.com/plugin" is not a repository: {ADDRESS}.',
        ),
        (
            values(image={"repository": "https://example.com/plugin"}),
            f'"https://example.com/plugin" is not a repository: {ADDRESS}.',
        ),
        (
            values(image={"repository": f"example.com/plugin@{DIGEST}"}),
            f'"example.com/plugin@{DIGEST}" is not a repository: it has a digest in it.',
        ),
        (
            operator(values={"gfd": {"image": "example.com/plugin:1", "version": ""}}),
            f'"example.com/plugin:1" is not the name of an image: {TAG}.',
        ),
        (
            operator(values={"gfd": {"image": "example.com/plugin:1", "repository": ""}}),
            f'"example.com/plugin:1" is not the name of an image: {TAG}.',
        ),
    ],
)
def test_an_image_that_no_runtime_can_name(given: dict[str, Any], message: str) -> None:
    assert [each for each, _ in said(given, "GPU728")] == [message]


@pytest.mark.parametrize("empty", ["", None])
def test_an_image_is_whole_where_there_is_nothing_beside_it(empty: str | None) -> None:
    whole = {"image": f"example.com/plugin@{DIGEST}", "repository": empty, "version": empty}

    assert said(operator(values={"gfd": whole}), "GPU728") == []


@pytest.mark.parametrize(
    ("version", "tag"),
    [("1.35", versions.cluster_autoscaler_tag("1.35")), ("1.99", "v1.99.0")],
)
def test_a_tag_is_shown_for_the_version_of_the_cluster(version: str, tag: str) -> None:
    given = {**autoscaler(values={"image": {"tag": "a b"}}), "cluster": {"version": version}}

    assert [fix for _, fix in said(given, "GPU728")] == [f"Write a tag, such as {tag}."]


def test_a_tag_is_shown_for_the_newest_version_where_that_is_not_known() -> None:
    given = {**autoscaler(values={"image": {"tag": "a b"}}), **EXISTING}
    newest = versions.cluster_autoscaler_tag(max(eks_versions()))

    assert [fix for _, fix in said(given, "GPU728")] == [f"Write a tag, such as {newest}."]


NAMED, BARE = "Write [{name: my-secret}].", "Write [my-secret]."
EFA = {"pools": {"gpu": {"instanceTypes": ["p4d.24xlarge"], "efa": True, "zones": ["us-west-2a"]}}}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (values(imagePullSecrets=[{"name": "mirror"}]), []),
        (values(imagePullSecrets=["mirror"]), [("This chart takes items with a name.", NAMED)]),
        (operator(values={"operator": {"imagePullSecrets": ["mirror"]}}), []),
        (
            operator(values={"operator": {"imagePullSecrets": [{"name": "mirror"}]}}),
            [("This chart takes bare names.", BARE)],
        ),
        (autoscaler(values={"image": {"pullSecrets": ["mirror"]}}), []),
        (
            autoscaler(values={"image": {"pullSecrets": [{"name": "mirror"}]}}),
            [("This chart takes bare names.", BARE)],
        ),
        (autoscaler(values={"image": None}), []),
        (values(imagePullSecrets=[{"name": "a" * 253}]), []),
        (
            values(imagePullSecrets=[{"name": "a" * 254}]),
            [
                (
                    f'"{"a" * 254}" is not the name of a Secret.',
                    "Use lower-case letters, digits, - and . between them.",
                )
            ],
        ),
        (
            {**EFA, "charts": {"efaDevicePlugin": {"values": {"imagePullSecrets": ["mirror"]}}}},
            [("This chart takes items with a name.", NAMED)],
        ),
        (
            {
                **EFA,
                "charts": {"efaDevicePlugin": {"values": {"imagePullSecrets": [{"name": "a"}]}}},
            },
            [],
        ),
    ],
)
def test_pull_secrets_have_the_form_of_the_chart(
    given: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    assert said(given, "GPU730") == expected


# --- where charts come from -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/srv/charts", "/srv/charts is a place on this machine only."),
        ("C:\\charts", "C:\\charts is a place on this machine only."),
        ("../charts", "../charts leads out of its folder."),
    ],
)
def test_a_path_that_others_do_not_have(path: str, message: str) -> None:
    assert [each for each, _ in said(plugin(path=path), "GPU726")] == [message]


@pytest.mark.parametrize(
    ("address", "of"),
    [
        ("https://robot:hunter2@charts.example.com/a", "charts.example.com"),
        ("https://robot:hunter2@/a", "the repository"),
    ],
)
def test_an_address_with_a_password(address: str, of: str) -> None:
    assert [each for each, _ in said(plugin(repository=address), "GPU722")] == [
        f"The address of {of} has a user or password in it."
    ]


@pytest.mark.parametrize("behind", ["index.yaml", "index.yaml/", "index.yaml?a=b", "index.yml"])
def test_an_index_is_below_its_repository(behind: str) -> None:
    given = plugin(repository=f"https://charts.example.com/nvidia/{behind}")

    assert said(given, "GPU721") == [
        ("This is the index of a repository.", "Write https://charts.example.com/nvidia.")
    ]


# --- versions ---------------------------------------------------------------------------------


def pools(**sharing: dict[str, Any]) -> dict[str, Any]:
    made = {"instanceTypes": ["g5.xlarge"], "amiVersion": RELEASE}
    return {"pools": {name: {**made, "sharing": each} for name, each in sharing.items()}}


def gfx(strategy: str, layout: Any) -> dict[str, Any]:
    sharing = {"mode": "mig", "layout": layout, "strategy": strategy}
    return {"pools": {"gpu": {"instanceTypes": ["g7e.2xlarge"], "sharing": sharing}}}


MIXED = {"1g.24gb+gfx": 1, "1g.24gb": 1}


@pytest.mark.parametrize(
    ("given", "message", "fix"),
    [
        (
            {**plugin(version="0.14.5"), **pools(gpu=MPS, other=SLICES)},
            "0.14.5 does not share by MPS: pool gpu needs 0.15.0 at least.",
            "Take 0.15.0 or a later one, or remove the key.",
        ),
        (
            {**plugin(version="0.14.5"), **pools(gpu=MPS, other=MPS)},
            "0.14.5 does not share by MPS: pools gpu, other need 0.15.0 at least.",
            "Take 0.15.0 or a later one, or remove the key.",
        ),
        (
            {**plugin(version="0.9.0"), **pools(gpu=SLICES, other=MPS)},
            "0.9.0 does not share by MPS: pool other needs 0.15.0 at least.",
            "Take 0.15.0 or a later one, or remove the key.",
        ),
        (
            {**plugin(values={"image": {"tag": "v0.14.5"}}), **pools(gpu=MPS)},
            "Image v0.14.5 does not share by MPS: pool gpu needs 0.15.0 at least.",
            "Take 0.15.0 or a later one, or remove the key.",
        ),
        (
            {**plugin(version="0.19.3"), **gfx("mixed", MIXED)},
            (
                "0.19.3 takes MIG profiles such as 1g.24gb+gfx for those without the attribute: "
                "pool gpu needs 0.20.0 at least."
            ),
            "Take 0.20.0 or a later one, or remove the key.",
        ),
    ],
)
def test_a_chart_that_is_too_old(given: dict[str, Any], message: str, fix: str) -> None:
    assert said(given, "GPU718") == [(message, fix)]


@pytest.mark.parametrize(
    "given",
    [
        gfx("mixed", {"1g.24gb": 4}),
        gfx("single", {"1g.24gb+gfx": 4}),
        gfx("mixed", {"9g.24gb+gfx": 1}),
        {"pools": {"gpu": {**gfx("mixed", MIXED)["pools"]["gpu"], "instanceTypes": []}}},
    ],
)
def test_profiles_without_attributes_need_no_newer_one(given: dict[str, Any]) -> None:
    assert said({**plugin(version="0.19.3"), **given}, "GPU718") == []


@pytest.mark.parametrize(
    ("given", "fix"),
    [
        (plugin(version="0.17.9"), "Did you mean 0.17.4?"),
        (
            plugin(version="0.0.0-alpha"),
            "Take one of https://nvidia.github.io/k8s-device-plugin/index.yaml.",
        ),
        (autoscaler(version="9.57.9"), "Did you mean 9.57.0?"),
        (
            autoscaler(version="9.13.1-rc.1"),
            "Take one of https://kubernetes.github.io/autoscaler/index.yaml.",
        ),
    ],
)
def test_a_version_that_was_never_published(given: dict[str, Any], fix: str) -> None:
    assert [each for _, each in said(given, "GPU719")] == [fix]


@pytest.mark.parametrize(
    "chart",
    [
        {"path": "charts/cluster-autoscaler", "version": "9.57.9"},
        {"version": "9.13.0"},
        {"version": "9.12.9"},
        {"version": "9.59"},
    ],
)
def test_a_version_of_the_autoscaler_that_is_not_looked_up(chart: dict[str, Any]) -> None:
    assert said(autoscaler(**chart), "GPU719") == []
