"""What the lab serves to Prometheus and to KEDA."""

from __future__ import annotations

import json
import ssl
from typing import TYPE_CHECKING

import pytest
import urllib3

from eks_gpushare_lab.control_plane.certificates import ServiceAuthority
from eks_gpushare_lab.controllers.web import Hosts, ProxyAnswers, Web

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

QUERY = "/api/v1/query?query=up%3E0&time=2026-11-22T00%3A00%3A00Z"
WORKSPACE = "https://aps-workspaces.eu-west-1.amazonaws.com/workspaces/ws-1"


@pytest.fixture
def prometheus() -> Iterator[Web]:
    """Says what it was asked."""

    def answer(method: str, path: str, body: bytes) -> tuple[int, str, bytes]:
        return 200, "application/json", json.dumps([method, path, body.decode()]).encode()

    server = Web(answer)
    yield server
    server.stop()


@pytest.fixture
def answers(prometheus: Web) -> ProxyAnswers:
    return ProxyAnswers(f"http://{prometheus.address}")


@pytest.fixture
def proxy(answers: ProxyAnswers, tmp_path: Path) -> Iterator[urllib3.ProxyManager]:
    """The proxy, from the side of one who trusts its certificates."""
    authority = ServiceAuthority()
    (tmp_path / "ca.crt").write_bytes(authority.certificate)
    server = Web(answers, Hosts(authority, tmp_path))
    context = ssl.create_default_context(cafile=str(tmp_path / "ca.crt"))
    with urllib3.ProxyManager(
        f"http://{server.address}", ssl_context=context, retries=False, timeout=10
    ) as manager:
        yield manager
    server.stop()


@pytest.mark.parametrize(
    "address", ["http://prometheus.monitoring.svc:9090", "http://p/with/prefix", WORKSPACE]
)
def test_every_prometheus_is_the_labs(
    proxy: urllib3.ProxyManager, answers: ProxyAnswers, address: str
) -> None:
    for _ in range(2):
        assert proxy.request("GET", address + QUERY).json() == ["GET", QUERY, ""]

    assert answers.asked == {address}


def test_a_query_may_be_posted(proxy: urllib3.ProxyManager) -> None:
    answer = proxy.request("POST", f"{WORKSPACE}/api/v1/query", body=b"query=up")

    assert answer.json() == ["POST", "/api/v1/query", "query=up"]


@pytest.mark.parametrize(
    "address", ["http://example.com/", "https://sqs.eu-west-1.amazonaws.com/1/queue"]
)
def test_nothing_else_is_reached(proxy: urllib3.ProxyManager, address: str) -> None:
    answer = proxy.request("GET", address)

    assert answer.status == 502
    assert b"for addresses of Prometheus only" in answer.data


def test_a_prometheus_that_is_away_is_said_so(prometheus: Web, answers: ProxyAnswers) -> None:
    prometheus.stop()
    status, _, content = answers("GET", f"http://p{QUERY}", b"")

    assert status == 502
    assert b"the lab's Prometheus" in content
