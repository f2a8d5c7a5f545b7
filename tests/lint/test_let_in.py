"""Network policies that keep Prometheus from what it is to scrape, and such as do not."""

from __future__ import annotations

import pytest
from linted import found

SERVER = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: watch, namespace: flux}
spec:
  targetNamespace: SPACE
  chart: {spec: {chart: CHART, version: 80.0.0}}
  values: {VALUES}
"""
PODS = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: llm, namespace: own}
spec:
  replicas: 1
  strategy: {type: Recreate}
  selector: {matchLabels: {app: llm}}
  template:
    metadata: {labels: {app: llm}}
    spec:
      HOST
      containers:
        - name: llm
          image: example.com/llm:1
          ports: [PORTS]
          resources: {limits: {nvidia.com/gpu: 1}}
"""
MONITOR = """\
apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
metadata: {name: answers, namespace: own}
spec:
  selector: {matchLabels: {app: llm}}
  podMetricsEndpoints: [ENDS]
"""
OF_SERVICE = """\
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: answers, namespace: own}
spec:
  selector: {matchLabels: {of: llm}}
  endpoints: [{port: web}]
---
apiVersion: v1
kind: Service
metadata: {name: llm, namespace: own, labels: {of: llm}}
spec: {selector: {app: llm}, ports: [{name: other, port: 81}, {name: web, port: 80, MORE}]}
"""
POLICY = """\
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: shut, namespace: own}
spec:
  podSelector: {matchLabels: {app: llm}}
  TYPES
  ingress: [RULES]
"""
CILIUM = """\
apiVersion: cilium.io/v2
kind: CiliumNetworkPolicy
metadata: {name: more, namespace: own}
spec: {endpointSelector: {}, ingress: [{fromEntities: [cluster]}]}
"""
SPACE = """\
apiVersion: v1
kind: Namespace
metadata: {name: watch, labels: {LABELS}}
"""
NAMED = "{from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAME}}}]}"
BY = "{from: [{namespaceSelector: {matchExpressions: [{HOW}]}}]}"
DOOR = NAMED.replace("NAME", "door")
WATCH = NAMED.replace("NAME", "watch")


def server(values: str = "", space: str = "watch", chart: str = "kube-prometheus-stack") -> str:
    text = SERVER.replace("SPACE", space).replace("CHART", chart)
    return text.replace("VALUES", values)


def pods(
    ports: str = "{name: web, containerPort: 8000}, {name: old, containerPort: 9000}",
    host: str = "",
) -> str:
    return PODS.replace("PORTS", ports).replace("HOST", host)


def monitor(ends: str = "{port: web}") -> str:
    return MONITOR.replace("ENDS", ends)


def policy(rules: str = DOOR, types: str = "policyTypes: [Ingress]") -> str:
    return POLICY.replace("RULES", rules).replace("TYPES", types)


def told(*texts: str, name: str = "") -> list[tuple[str, str]]:
    """Place and message of each GPU1393."""
    given = [(f"{name}{number}.yaml", text) for number, text in enumerate(texts)]
    return [(each.path, each.message) for each in found(given) if each.code == "GPU1393"]


def is_told(*texts: str) -> bool:
    return told(*texts) != []


def test_prometheus_is_of_a_namespace_that_is_let_in() -> None:
    ((path, message),) = told(server(), pods(), monitor(), policy())

    assert path == "spec.ingress"
    assert message == (
        "The NetworkPolicy shut lets nothing of the namespace watch, where Prometheus is, in to "
        "what the PodMonitor answers has scraped of the Deployment llm."
    )


@pytest.mark.parametrize(
    ("rules", "wrong"),
    [
        (DOOR, True),
        (WATCH, False),
        (f"{DOOR}, {WATCH}", False),
        ("{}", False),  # whoever it is
        ("{from: []}", False),
        ("{from: [{namespaceSelector: {}}]}", False),
        ("{from: [{podSelector: {}}]}", True),  # of its own namespace
        ("{from: [{ipBlock: {cidr: 10.0.0.0/8}}]}", False),
        ("{from: [{namespaceSelector: {matchLabels: {team: NAME}}}]}", False),  # perhaps it has
        (
            "{from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: $NAME}}}]}",
            False,
        ),
        (
            BY.replace(
                "HOW", "key: kubernetes.io/metadata.name, operator: In, values: [door, watch]"
            ),
            False,
        ),
        (
            BY.replace("HOW", "key: kubernetes.io/metadata.name, operator: NotIn, values: [watch]"),
            True,
        ),
        (
            BY.replace("HOW", "key: team, operator: In, values: [door]"),
            False,
        ),
        ("$RULE", False),
        ("{from: $PEERS}", False),
    ],
)
def test_rules_add_up_and_what_is_not_known_may_let_it_in(rules: str, wrong: bool) -> None:
    assert is_told(server(), pods(), monitor(), policy(rules)) is wrong


@pytest.mark.parametrize(
    ("ports", "wrong"),
    [
        ("{port: 8000}", False),
        ("{port: 8000, protocol: TCP}", False),
        ("{port: web}", False),
        ("{port: 9000}", True),
        ("{port: 7000}", True),
        ("{port: old}", True),
        ("{port: 9000}, {port: 8000}", False),
        ("{protocol: TCP}", False),
        ("{port: 7000, endPort: 8000}", False),
        ("{port: 8000, endPort: 8001}", False),
        ("{port: 7000, endPort: 7999}", True),
        ("{port: 8001, endPort: 9000}", True),
        ("{port: $PORT}", False),
    ],
)
def test_it_is_let_in_to_the_port_that_it_scrapes(ports: str, wrong: bool) -> None:
    rule = f"{WATCH[:-1]}, ports: [{ports}]}}"

    assert is_told(server(), pods(), monitor(), policy(rule)) is wrong


@pytest.mark.parametrize(
    ("scraped", "wrong"),
    [
        (monitor("{port: old}"), False),
        (monitor("{port: web}, {port: old}"), False),  # of one it has something
        (monitor("{targetPort: 8000}"), False),
        (monitor("{port: web}, {targetPort: 7000}"), False),
        (OF_SERVICE.replace("port: web", "targetPort: 9000").replace("name: web,", ""), False),
        (monitor(""), False),
        (OF_SERVICE.replace("MORE", "targetPort: web"), True),
        (OF_SERVICE.replace("MORE", "targetPort: 8000"), True),
        (OF_SERVICE.replace("MORE", "targetPort: old"), False),
        (OF_SERVICE.replace("MORE", "targetPort: 9000"), False),
        (OF_SERVICE.replace("MORE", "targetPort: $PORT"), False),
        (OF_SERVICE.replace("MORE", "protocol: TCP"), True),  # the same as the Service's
    ],
)
def test_a_monitor_says_which_port(scraped: str, wrong: bool) -> None:
    rule = f"{WATCH[:-1]}, ports: [{{port: 9000}}]}}"

    assert is_told(server(), pods(), scraped, policy(rule)) is wrong


def test_ports_need_no_names_or_are_not_known_by_them() -> None:
    rule = f"{WATCH[:-1]}, ports: [{{port: 9000}}]}}"
    scraped = OF_SERVICE.replace("MORE", "targetPort: 8000")

    assert is_told(server(), pods("{containerPort: 8000}"), scraped, policy(rule))
    assert not is_told(server(), pods("{name: $N, containerPort: 8000}"), scraped, policy(rule))
    assert not is_told(server(), pods(), monitor("{port: envoy-stats}"), policy(rule))


@pytest.mark.parametrize(
    ("types", "wrong"),
    [
        ("", True),
        ("policyTypes: [Egress, Ingress]", True),
        ("policyTypes: [Egress]", False),
        ("policyTypes: [$TYPE]", False),
    ],
)
def test_a_policy_may_be_about_what_goes_out(types: str, wrong: bool) -> None:
    assert is_told(server(), pods(), monitor(), policy(types=types)) is wrong


def test_a_policy_that_lets_nobody_in_has_others_beside_it() -> None:
    assert not is_told(server(), pods(), monitor(), policy(""))
    further = policy(WATCH).replace("name: shut", "name: further")
    every = further.replace("matchLabels: {app: llm}", "")
    assert not is_told(server(), pods(), monitor(), policy(), further)
    assert not is_told(server(), pods(), monitor(), policy(), every)
    assert is_told(server(), pods(), monitor(), policy(""), further.replace("watch", "door"))
    assert is_told(server(), pods(), monitor(), policy(), further.replace("app: llm", "app: b"))
    assert not is_told(
        server(), pods(), monitor(), policy(), further.replace("app: llm", "app: $B")
    )
    assert not is_told(server(), pods(), monitor(), policy(), CILIUM)


@pytest.mark.parametrize("space", ["namespace: other", "namespace: $SPACE", "labels: {a: b}"])
def test_a_policy_is_of_the_namespace_of_the_pods(space: str) -> None:
    assert not is_told(server(), pods(), monitor(), policy().replace("namespace: own", space))
    beside = policy().replace("namespace: own", space).replace("name: shut", "name: beside")
    wrong = space == "namespace: other"
    assert is_told(server(), pods(), monitor(), policy(), beside) is wrong


def test_a_peer_of_pods_alone_is_of_the_policys_namespace() -> None:
    own = "{from: [{podSelector: {}}]}"

    assert not is_told(server(space="own"), pods(), monitor(), policy(own))
    assert not is_told(server(space="$SPACE"), pods(), monitor(), policy(own))
    assert not is_told(server(space="$SPACE"), pods(), monitor(), policy())


@pytest.mark.parametrize(
    ("labels", "wrong"), [("team: door", False), ("team: watch", True), ("TEAM", False), ("", True)]
)
def test_labels_of_a_namespace_are_those_that_it_has_here(labels: str, wrong: bool) -> None:
    rule = "{from: [{namespaceSelector: {matchLabels: {team: door}}}]}"
    space = SPACE.replace("{LABELS}", "$LABELS" if labels == "TEAM" else f"{{{labels}}}")

    assert is_told(server(), pods(), monitor(), policy(rule), space) is wrong


def test_where_prometheus_is_may_be_said_otherwise() -> None:
    own = """\
apiVersion: monitoring.coreos.com/v1
kind: Prometheus
metadata: {name: own, namespace: watch}
spec: {podMonitorSelector: {}}
"""
    assert is_told(own, pods(), monitor(), policy())
    assert not is_told(own, pods(), monitor(), policy(WATCH))
    assert not is_told(own.replace("watch", "door"), server(), pods(), monitor(), policy())
    assert not is_told(server("namespaceOverride: door"), pods(), monitor(), policy())
    assert is_told(server("namespaceOverride: watch", "door"), pods(), monitor(), policy())
    assert not is_told(server(chart="keda"), pods(), monitor(), policy())
    assert not is_told(pods(), monitor(), policy())


def test_it_is_about_what_is_scraped_of_gpus() -> None:
    assert not is_told(server(), pods().replace("nvidia.com/gpu", "cpu"), monitor(), policy())
    assert not is_told(server(), pods(), monitor(""), policy())
    assert not is_told(server(), pods(), policy())
    assert not is_told(server(), pods(host="hostNetwork: true"), monitor(), policy())
    guide = f"# Metrics\n\n```yaml\n{policy()}```\n"
    files = {"server.yaml": server(), "p.yaml": pods(), "m.yaml": monitor(), "README.md": guide}
    assert "GPU1393" not in [each.code for each in found(files.items())]


GROUP = """\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: llm, namespace: own}
spec:
  leaderWorkerTemplate:
    size: 2
    workerTemplate:
      spec:
        containers:
          - name: llm
            image: example.com/llm:1
            ports: [{name: web, containerPort: 80}]
            resources: {limits: {nvidia.com/gpu: 8}}
"""


@pytest.mark.parametrize(
    ("label", "wrong"),
    [("name: llm", False), ("worker-index: '0'", False), ("name: other", True)],
)
def test_policies_take_pods_by_labels_of_their_controller(label: str, *, wrong: bool) -> None:
    """As a Service does that what is scraped is behind."""
    group = "leaderworkerset.sigs.k8s.io/"
    service = OF_SERVICE.replace("{app: llm}", f"{{{group}name: llm}}").replace(", MORE", "")
    every = policy().replace("{matchLabels: {app: llm}}", "{}")
    of_group = policy(WATCH).replace("app: llm", f"{group}{label}").replace("shut", "open")

    assert is_told(server(), GROUP, service, every)
    assert is_told(server(), GROUP, service, every, of_group) is wrong


def test_pods_of_no_group_have_no_such_labels() -> None:
    label = "{leaderworkerset.sigs.k8s.io/name: llm}"
    of_group = policy(WATCH).replace("{app: llm}", label).replace("shut", "open")

    assert is_told(server(), pods(), monitor(), policy(), of_group)
