"""How Karpenter is installed, on both sides of each rule."""

from __future__ import annotations

from typing import Any

import pytest
from finding_examples import base, checked, findings, fixes, stack_file_text

from eks_gpushare.config.component_specs import KarpenterSpec
from eks_gpushare.config.environment import Environment
from eks_gpushare.documents.helm import merge_values
from eks_gpushare.program.edits.refused import check_edit
from eks_gpushare.rules.component_rules import check_karpenter
from eks_gpushare.validation.partial import read_block

POOL: dict[str, Any] = {
    "pools": {"gpu": {"provisioner": "karpenter", "nodes": {"min": None, "desired": None}}}
}
ROLE = "arn:aws:iam::111122223333:role/gpu-nodes"
THEIRS: dict[str, Any] = {
    "cluster": {"name": None, "version": None, "admins": None, "existing": {"name": "demo"}},
    "network": None,
}


def stack(*fragments: dict[str, Any], **keys: Any) -> dict[str, Any]:
    """The base with a pool of Karpenter's, and what is given over it."""
    found: dict[str, Any] = POOL
    for each in (*fragments, keys):
        found = merge_values(found, each, keep_null=True)
    return found


def karpenter(**keys: Any) -> dict[str, Any]:
    return stack(karpenter=keys)


def chart(**keys: Any) -> dict[str, Any]:
    return stack(charts={"karpenter": keys})


NOT_INSTALLED = {"karpenter": {"install": False, "nodeRole": ROLE}}


def system(desired: int) -> dict[str, Any]:
    return {"system": {"nodes": {"min": 0, "desired": desired, "max": 4}}}


WRONG: list[tuple[str, str, dict[str, Any]]] = [
    ("GPU770", "karpenter.replicas", stack(system(1))),
    ("GPU770", "karpenter.replicas", stack(system(2), karpenter={"replicas": 3})),
    ("GPU770", "karpenter.replicas", {**system(1), "karpenter": {}}),
    ("GPU770", "karpenter.replicas", karpenter(replicas=5)),
    ("GPU771", "karpenter.nodeRole", stack(THEIRS, karpenter={"install": False})),
    *(
        ("GPU772", f"karpenter.{key}", stack(THEIRS, karpenter={"install": False, key: value}))
        for key, value in {
            "namespace": "karpenter",
            "replicas": 2,
            "interruptionQueue": True,
            "accessEntry": False,
        }.items()
    ),
    *(
        (
            "GPU772",
            f"charts.{key}",
            stack(THEIRS, karpenter={"install": False}, charts={key: {"version": "1.14.1"}}),
        )
        for key in ("karpenter", "karpenterCrd")
    ),
    ("GPU772", "karpenter.install", karpenter(install=False, nodeRole=ROLE)),
    *(
        ("GPU773", "karpenter.nodeRole", karpenter(nodeRole=role))
        for role in (
            "gpu-nodes",
            "",
            "arn:aws:iam::111122223333:instance-profile/gpu-nodes",
            "arn:aws:iam::111122223333:user/gpu-nodes",
            "arn:aws:iam::1111:role/gpu-nodes",
            "arn:aws:sts::111122223333:assumed-role/gpu-nodes/session",
        )
    ),
    (
        "GPU321",
        "karpenter.nodeRole",
        karpenter(nodeRole="arn:aws-cn:iam::111122223333:role/gpu-nodes"),
    ),
    *(
        ("GPU774", "karpenter.namespace", karpenter(namespace=name))
        for name in ("kube-public", "kube-node-lease", "Karpenter", "", "-k", "k_s", "n" * 64)
    ),
    ("GPU714", "charts.karpenterCrd", {"charts": {"karpenterCrd": {"version": "1.14.1"}}}),
    *(
        ("GPU776", "charts.karpenter.version", chart(version=version))
        for version in ("0.37.7", "1.0.5", "1.8.6", "v1.8.6", "1.9.0-rc.1")
    ),
    ("GPU776", "charts.karpenter.version", {"karpenter": {}, **chart(version="1.8.9")}),
    (
        "GPU777",
        "charts.karpenterCrd.version",
        stack(charts={"karpenterCrd": {"version": "1.14.0"}}),
    ),
    (
        "GPU777",
        "charts.karpenterCrd.version",
        stack(charts={"karpenter": {"version": "1.13.0"}, "karpenterCrd": {"version": "1.14.1"}}),
    ),
    ("GPU778", "karpenter", stack(THEIRS)),
    (
        "GPU615",
        "karpenter",
        stack(
            {
                "cluster": {"name": None, "version": None, "admins": None},
                "network": None,
            },
            cluster={"existing": {"kubeconfig": "./kubeconfig"}},
            karpenter={},
        ),
    ),
]

RIGHT: list[tuple[str, dict[str, Any]]] = [
    ("GPU770", stack()),
    ("GPU770", stack(system(1), karpenter={"replicas": 1})),
    ("GPU770", stack(system(3), karpenter={"replicas": 3})),
    ("GPU770", system(1)),  # no Karpenter
    ("GPU770", stack(THEIRS)),  # whose nodes nobody here knows
    ("GPU770", stack(THEIRS, system(1))),
    ("GPU714", stack(charts={"karpenterCrd": {"version": "1.14.1"}})),
    ("GPU714", {"karpenter": {}, "charts": {"karpenterCrd": {"version": "1.14.1"}}}),
    ("GPU714", stack(THEIRS, NOT_INSTALLED, charts={"karpenterCrd": {"version": "1.14.1"}})),
    ("GPU714", {}),
    ("GPU771", stack(THEIRS, karpenter={"install": False, "nodeRole": ROLE})),
    ("GPU771", stack(THEIRS, karpenter={})),
    ("GPU772", stack(THEIRS, karpenter={"install": False, "nodeRole": ROLE})),
    ("GPU772", karpenter(namespace="karpenter", replicas=1, interruptionQueue=False)),
    ("GPU773", karpenter(nodeRole=ROLE)),
    ("GPU773", karpenter(nodeRole="arn:aws:iam::111122223333:role/teams/ml/gpu-nodes")),
    ("GPU774", karpenter(namespace="karpenter")),
    ("GPU774", karpenter(namespace="default")),
    ("GPU774", karpenter(namespace="n" * 63)),
    ("GPU774", karpenter(namespace="k8s-karpenter-1")),
    *(("GPU776", chart(version=v)) for v in ("1.9.0", "v1.9.0", "1.14.1", "1.15.0", "2.0.0")),
    ("GPU776", chart(path="charts/karpenter")),
    ("GPU776", stack(THEIRS, charts={"karpenter": {"version": "1.7.0"}})),
    ("GPU777", stack(charts={"karpenterCrd": {"version": "1.14.1"}})),
    ("GPU777", stack(charts={"karpenterCrd": {"version": "v1.14.1"}})),
    ("GPU777", stack(charts={"karpenterCrd": {"repository": "oci://m.example/karpenter-crd"}})),
    ("GPU778", stack()),
    ("GPU778", stack(THEIRS, karpenter={"install": False, "nodeRole": ROLE})),
    ("GPU623", stack()),
]


@pytest.mark.parametrize(("code", "path", "given"), WRONG)
def test_what_is_wrong_is_found(code: str, path: str, given: dict[str, Any]) -> None:
    assert path in [at for at, _ in findings(given, code)]


@pytest.mark.parametrize(("code", "given"), RIGHT)
def test_what_is_right_is_let_be(code: str, given: dict[str, Any]) -> None:
    assert findings(given, code) == []


def test_what_a_foreign_karpenter_needs_is_told() -> None:
    foreign = {"install": False, "nodeRole": ROLE}
    shares = {"sharing": {"mode": "timeSlicing", "replicas": 4}}
    sizes = {"min": None, "desired": 1, "max": None}
    static = {"nodes": sizes, "karpenter": {"static": True}}

    def told(*pools: dict[str, Any], **keys: Any) -> list[tuple[str, str]]:
        return findings(
            stack(THEIRS, *({"pools": {"gpu": each}} for each in pools), **keys), "GPU799"
        )

    whole = {"sharing": {"mode": "exclusive", "replicas": None}}
    assert told(shares, karpenter=foreign) == [
        (
            "karpenter.install",
            (
                "The pools need feature gates of a Karpenter that somebody else installs: "
                "nodeOverlay for gpu."
            ),
        )
    ]
    assert told(whole, static, karpenter=foreign) == [
        (
            "karpenter.install",
            (
                "The pools need feature gates of a Karpenter that somebody else installs: "
                "staticCapacity for gpu."
            ),
        )
    ]
    assert told(whole, karpenter=foreign) == []
    assert told(shares) == []


@pytest.mark.parametrize(("desired", "have"), [(1, "1 system node"), (2, "2 system nodes")])
def test_copies_want_nodes_of_their_own(desired: int, have: str) -> None:
    assert findings(stack(system(desired), karpenter={"replicas": 3}), "GPU770") == [
        (
            "karpenter.replicas",
            f"3 copies of Karpenter want 3 nodes, and the stack begins with {have}.",
        )
    ]


def test_what_is_only_of_an_installation_is_named() -> None:
    given = stack(THEIRS, NOT_INSTALLED, {"karpenter": {"replicas": 2}})

    assert findings(given, "GPU772") == [
        (
            "karpenter.replicas",
            "replicas is about how Karpenter is installed, and this stack does not install it.",
        )
    ]
    assert fixes(given, "GPU772") == ["Remove replicas, or set install: true."]


def test_a_stack_without_karpenter_has_none_of_these() -> None:
    report = checked(stack_file_text(base()))

    assert not [f for f in report.findings if f.code.startswith("GPU77")]


@pytest.mark.parametrize(
    ("pool", "why", "needed"),
    [
        ({}, "the pool gpu, whose shares NodeOverlays tell it of", "1.7.0"),
        (
            {"karpenter": {"static": True}, "nodes": {"desired": 1}},
            "the pool gpu, which is static",
            "1.8.0",
        ),
    ],
)
def test_the_version_is_one_for_what_the_pools_ask(
    pool: dict[str, Any], why: str, needed: str
) -> None:
    """Of an existing cluster nobody here knows the version."""
    shared = {"sharing": {"mode": "timeSlicing", "replicas": 4}, **pool}
    given = stack(THEIRS, pools={"gpu": shared}, charts={"karpenter": {"version": "1.6.3"}})

    assert findings(given, "GPU776") == [
        (
            "charts.karpenter.version",
            f"Karpenter 1.6.3 is too old for {why}, which needs {needed} at least.",
        )
    ]


@pytest.mark.parametrize(
    ("kind", "version", "needed"),
    [
        ("onDemand", "1.0.0", None),
        ("reserved", "1.2.9", "1.3.0"),
        ("reserved", "1.3.0", None),
        ("capacityBlock", "1.5.4", "1.6.0"),
        ("capacityBlock", "1.6.0", None),
    ],
)
def test_a_version_knows_reservations(kind: str, version: str, needed: str | None) -> None:
    given = stack(
        THEIRS,
        pools={"gpu": {"capacityType": kind}},
        charts={"karpenter": {"version": version}},
    )

    ends = f", which needs {needed} at least."
    found = [message for _, message in findings(given, "GPU776")]
    assert [message.endswith(ends) for message in found] == ([True] if needed else [])


@pytest.mark.parametrize(
    ("gates", "version", "why"),
    [
        ({"staticCapacity": True}, "1.7.0", 'the gate "staticCapacity", which needs 1.8.0'),
        ({"staticCapacity": True}, "1.8.0", None),
        ({"staticCapacity": False}, "1.7.0", None),
        ({"nodeOverlay": True}, "1.6.3", 'the gate "nodeOverlay", which needs 1.7.0'),
        ({"nodeOverlay": False}, "1.6.3", None),
        ({}, "1.6.3", None),
    ],
)
def test_a_version_knows_the_gates_of_karpenter_alone(
    gates: dict[str, bool], version: str, why: str | None
) -> None:
    given = {"featureGates": gates, "chart": {"version": version}}
    spec = read_block(KarpenterSpec, given, by_alias=True).block
    found = [each.message for each in check_karpenter(spec) if each.code == "GPU776"]

    assert found == ([f"Karpenter {version} is too old for {why} at least."] if why else [])


@pytest.mark.parametrize(
    ("version", "gate", "code", "path", "message"),
    [
        (
            None,
            "terminateFirstDrift",
            "GPU776",
            "charts.karpenter.values.settings.featureGates.terminateFirstDrift",
            (
                'Karpenter 1.14.1 is too old for the gate "terminateFirstDrift", which needs '
                "1.15.0 at least."
            ),
        ),
        (
            "1.13.0",
            "capacityBuffer",
            "GPU776",
            "charts.karpenter.version",
            (
                'Karpenter 1.13.0 is too old for the gate "capacityBuffer", which needs 1.14.0 at '
                "least."
            ),
        ),
        ("1.15.1", "terminateFirstDrift", "GPU776", "", ""),
        ("1.99.0", "zork", "GPU711", "", ""),
        *(
            (
                version,
                "nodeOverlays",
                "GPU711",
                "charts.karpenter.values.settings.featureGates.nodeOverlays",
                'Karpenter has no feature gate "nodeOverlays".',
            )
            for version in (None, "1.15.1", "1.99.0")
        ),
    ],
)
def test_gates_in_values_are_those_of_the_release(
    version: str | None, gate: str, code: str, path: str, message: str
) -> None:
    """The chart names the gates that it hands on, and takes others without a word."""
    values = {"settings": {"featureGates": {gate: True}}}
    chart = {"values": values, **({"version": version} if version else {})}

    found = findings(stack(THEIRS, charts={"karpenter": chart}), code)

    assert found == ([(path, message)] if path else [])
    chart["values"] = {"settings": {"featureGates": {gate: False}}}
    of_off = findings(stack(THEIRS, charts={"karpenter": chart}), code)
    assert of_off == (found if code == "GPU711" else [])


def test_a_version_that_is_too_old_for_much_is_told_once() -> None:
    gates = {"nodeOverlay": True, "staticCapacity": True, "capacityBuffer": True}
    chart = {"version": "1.6.3", "values": {"settings": {"featureGates": gates}}}
    given = stack(THEIRS, charts={"karpenter": chart})

    [(path, message)] = findings(given, "GPU776")
    assert path == "charts.karpenter.version"
    assert "capacityBuffer" in message
    shared = {"sharing": {"mode": "timeSlicing", "replicas": 4}}
    chart["values"] = {"settings": {"featureGates": {"nodeOverlay": True}}}
    [(_, of_pool)] = findings(merge_values(given, {"pools": {"gpu": shared}}), "GPU776")
    assert "the pool gpu, whose shares NodeOverlays tell it of" in of_pool


@pytest.mark.parametrize(
    ("gates", "path", "message"),
    [
        ("nodeOverlay=true", "", "settings.featureGates is a mapping, not a text."),
        (["nodeOverlay"], "", "settings.featureGates is a mapping, not a list."),
        (
            {"nodeOverlay": "yes"},
            ".nodeOverlay",
            'nodeOverlay is true or false, not "yes": Karpenter does not start.',
        ),
        (
            {"spotToSpotConsolidation": 2},
            ".spotToSpotConsolidation",
            "spotToSpotConsolidation is true or false, not 2: Karpenter does not start.",
        ),
        (
            {"nodeOverlay": {"enabled": True}},
            ".nodeOverlay",
            "nodeOverlay is true or false, not a mapping: Karpenter does not start.",
        ),
    ],
)
def test_a_gate_is_a_boolean(gates: object, path: str, message: str) -> None:
    shared = {"sharing": {"mode": "timeSlicing", "replicas": 4}}
    values = {"settings": {"featureGates": gates}}
    given = stack(THEIRS, pools={"gpu": shared}, charts={"karpenter": {"values": values}})

    above = "charts.karpenter.values.settings.featureGates"
    assert findings(given, "GPU727") == [(f"{above}{path}", message)]
    assert [each for each in findings(given, "GPU757") if path] == []


@pytest.mark.parametrize("told", [True, "true", "True", "1", 1])
def test_what_karpenter_reads_as_true_is_right(told: object) -> None:
    shared = {"sharing": {"mode": "timeSlicing", "replicas": 4}}
    values = {"settings": {"featureGates": {"nodeOverlay": told}}}
    given = stack(THEIRS, pools={"gpu": shared}, charts={"karpenter": {"values": values}})

    assert [findings(given, code) for code in ("GPU727", "GPU757")] == [[], []]


def test_small_system_nodes_have_no_room_for_karpenter() -> None:
    """Two t3.small do for a stack without it."""
    small = {"system": {"instanceTypes": ["t3.small"]}, "cluster": {"addons": {"ebsCsi": True}}}
    (found,) = findings(stack(small), "GPU623")

    assert "Karpenter" in found[1]
    assert findings(small, "GPU623") == []
    values = {"controller": {"resources": {"requests": {"cpu": "100m", "memory": "256Mi"}}}}
    assert findings(stack(small, charts={"karpenter": {"values": values}}), "GPU623") == []


def environment(*fragments: dict[str, Any]) -> Environment:
    given = base()
    for each in fragments:
        given = merge_values(given, each)
    return Environment.model_validate(given)


STATIC: dict[str, Any] = {
    "pools": {"gpu": {"nodes": {"desired": 1}, "karpenter": {"static": True}}}
}
EDITS: list[tuple[list[dict[str, Any]], list[dict[str, Any]], list[tuple[str, str]]]] = [
    ([POOL], [POOL], []),
    ([POOL], [POOL, {"karpenter": {"replicas": 1}}], []),
    ([THEIRS, POOL], [THEIRS, POOL, NOT_INSTALLED], [("GPU775", "karpenter.install")]),
    (
        [THEIRS, POOL, {"karpenter": {}}],
        [THEIRS, POOL, NOT_INSTALLED],
        [("GPU775", "karpenter.install")],
    ),
    ([THEIRS, POOL, NOT_INSTALLED], [THEIRS, POOL], []),
    # With its pools it may go.
    ([POOL], [], []),
    ([POOL], [POOL, STATIC], [("GPU779", "pools.gpu.karpenter.static")]),
    ([POOL, STATIC], [POOL], [("GPU779", "pools.gpu.karpenter.static")]),
    ([POOL, STATIC], [POOL, STATIC], []),
    # From one provisioner to another it is another pool.
    ([], [POOL, STATIC], []),
]


@pytest.mark.parametrize(("before", "after", "expected"), EDITS)
def test_what_an_edit_may_not_do(
    before: list[dict[str, Any]],
    after: list[dict[str, Any]],
    expected: list[tuple[str, str]],
) -> None:
    found = check_edit(environment(*before), environment(*after))

    assert [(each.code, each.path) for each in found if each.code.startswith("GPU77")] == expected


@pytest.mark.parametrize(
    ("nodes", "fix"),
    [
        (3000, "Use a larger type, such as m6i.xlarge."),
        (7000, "Use a larger type, such as m6i.2xlarge."),
        (90_000, "Use a larger type."),
    ],
)
def test_a_type_is_named_that_is_large_enough(nodes: int, fix: str) -> None:
    """For a Karpenter that holds so many nodes in memory."""
    pool = {"provisioner": "karpenter", "nodes": {"max": nodes}}
    system = {"instanceTypes": ["t3.large"], "nodes": {"min": 2, "desired": 2, "max": 2}}
    given = {"system": system, "pools": {"gpu": pool}}

    assert fixes(given, "GPU623") == [fix]
