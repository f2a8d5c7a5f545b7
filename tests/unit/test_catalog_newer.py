"""The script that asks registries for newer pins, against servers that answer in their formats."""

from __future__ import annotations

import json
import shutil
import threading
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import newer
import packages
import pytest
import yaml
from registries import AskedError, Aws, Registries, newest

from eks_gpushare.catalog import gpu_instance_types, versions

if TYPE_CHECKING:
    from collections.abc import Iterator

DAY = date(2027, 1, 4)
PRICES = "pricing.us-east-1.amazonaws.com/offers/v1.0/aws/AmazonEC2/current/us-east-1/index.csv"
COLUMNS = (
    *("SKU", "TermType", "Unit", "PricePerUnit", "Instance Type", "Tenancy"),
    *("Operating System", "Pre Installed S/W", "CapacityStatus"),
)


class World:
    """Every registry at once: a request names the host as the first part of its path."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.tags: dict[str, list[str]] = {}
        self.closed: set[str] = set()
        """Repositories that take a token."""
        self.parameters: dict[str, str] = {}
        self.addons: dict[tuple[str, str], str] = {}
        self.asked: list[str] = []
        world = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                world.asked.append(self.path)
                parts = urlsplit(self.path)
                self._say(*world.answer(parts.path.lstrip("/"), parts.query, self.headers))

            def do_POST(self) -> None:
                given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                assert self.headers["X-Amz-Target"] == "AmazonSSM.GetParameter"
                found = world.parameters.get(given["Name"])
                if found is None:
                    self._say(400, json.dumps({"__type": "ParameterNotFound"}), {})
                    return
                answer = {"Parameter": {"Name": given["Name"], "Value": found, "Type": "String"}}
                self._say(200, json.dumps(answer), {})

            def _say(self, status: int, text: str, headers: dict[str, str]) -> None:
                body = text.encode()
                self.send_response(status)
                kind = {"Content-Type": "text/html"}
                for key, value in {**kind, **headers, "Content-Length": str(len(body))}.items():
                    self.send_header(key, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def answer(self, path: str, query: str, headers: Any) -> tuple[int, str, dict[str, str]]:
        if path in self.texts:
            return 200, self.texts[path], {}
        if path in ("auth.example/token", "addons/supported-versions"):
            given = parse_qs(query)
            token = {"token": f"for {given['scope'][0]}"} if "scope" in given else {}
            return 200, json.dumps(token or self._addon(given)), {}
        return self._registry(path, query, headers)

    def _registry(self, path: str, query: str, headers: Any) -> tuple[int, str, dict[str, str]]:
        host, _, rest = path.partition("/")
        repository, of_tags, what = rest.removeprefix("v2/").rpartition("/tags/")
        if not of_tags:
            repository, _, what = rest.removeprefix("v2/").rpartition("/manifests/")
            return 200, "{}", {"Docker-Content-Digest": "sha256:" + f"{len(what):064x}"}
        name = f"{host}/{repository}"
        if name in self.closed and headers["Authorization"] != "Bearer for repository:x:pull":
            bearer = (
                'Bearer realm="https://auth.example/token",service="s",scope="repository:x:pull"'
            )
            return 401, "{}", {"WWW-Authenticate": bearer}
        if name not in self.tags:
            return 404, "{}", {}
        first, rest_of_tags = self.tags[name][:2], self.tags[name][2:]
        if "last" in query or not rest_of_tags:
            return 200, json.dumps({"tags": rest_of_tags or first}), {}
        link = f'</v2/{repository}/tags/list?last=2>; rel="next"'
        return 200, json.dumps({"tags": first}), {"Link": link}

    def _addon(self, query: dict[str, list[str]]) -> dict[str, Any]:
        found = self.addons.get((query["addonName"][0], query["kubernetesVersion"][0]))
        of_old = {"addonVersion": "v0.0.1", "compatibilities": [{"defaultVersion": False}]}
        of_new = {"addonVersion": found, "compatibilities": [{"defaultVersion": True}]}
        return {"addons": [{"addonVersions": [of_old, *([of_new] if found else [])]}]}

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


pytestmark = pytest.mark.skipif(not shutil.which("go"), reason="go names the proxy of modules")


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    for key in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(key, "testing")
    found = World()
    monkeypatch.setenv("GOPROXY", "https://go.example,direct")
    monkeypatch.setenv("PIP_INDEX_URL", f"{found.address}/simple")
    yield found
    found.close()


def as_pinned(world: World) -> World:
    """A world in which nothing is newer."""
    for chart in versions.CHARTS:
        if chart.repository.startswith("oci://"):
            world.tags[chart.repository.removeprefix("oci://")] = [chart.version, "latest"]
        else:
            entries = {chart.name: [{"version": chart.version}, {"version": "0.0.1"}]}
            place = f"{chart.repository.removeprefix('https://')}/index.yaml"
            held = yaml.safe_load(world.texts.get(place, "entries: {}"))["entries"]
            world.texts[place] = yaml.safe_dump({"entries": held | entries})
    autoscalers = [versions.cluster_autoscaler_tag(k) for k in versions.KUBERNETES_VERSIONS]
    world.tags[versions.CLUSTER_AUTOSCALER_IMAGE] = list(map(str, autoscalers))
    for image in versions.IMAGES:
        world.tags[image.repository] = [image.tag]
    module, version = packages.KARPENTER
    world.texts[f"go.example/{module}/@latest"] = json.dumps({"Version": version})
    wheel = f"moto-{packages.MOTO}-py3-none-any.whl"
    world.texts["simple/moto/"] = f'<!DOCTYPE html><a href="{wheel}">{wheel}</a>'
    kinds = gpu_instance_types().items()
    world.texts[PRICES] = prices({n: p for n, t in kinds if (p := t.price("us-east-1"))})
    for kubernetes in versions.KUBERNETES_VERSIONS:
        eks = f"/aws/service/eks/optimized-ami/{kubernetes}/amazon-linux-2023/x86_64/nvidia"
        release = str(versions.ami_release("al2023", kubernetes))
        world.parameters[f"{eks}/recommended/release_version"] = release
        rocket = (
            f"/aws/service/bottlerocket/aws-k8s-{kubernetes}-nvidia/x86_64/latest/image_version"
        )
        world.parameters[rocket] = versions.BOTTLEROCKET_RELEASE
        for name, addon in versions.addon_versions(kubernetes).items():
            world.addons[name, kubernetes] = addon.version
    return world


def prices(by_type: dict[str, float]) -> str:
    """AWS's list, with what a type costs reserved, with Windows, and on a host of one's own."""
    rows = ['"FormatVersion","v1.0"', '"Disclaimer","-"', ",".join(f'"{c}"' for c in COLUMNS)]
    for name, price in by_type.items():
        for term, tenancy, system, factor in (
            ("OnDemand", "Shared", "Linux", 1.0),
            ("OnDemand", "Shared", "Windows", 2.0),
            ("OnDemand", "Dedicated", "Linux", 3.0),
            ("Reserved", "Shared", "Linux", 0.5),
        ):
            row = ("S", term, "Hrs", str(price * factor), name, tenancy, system, "NA", "Used")
            rows.append(",".join(f'"{cell}"' for cell in row))
    return "\n".join(rows) + "\n"


def asked(world: World, *, aws: bool = True) -> newer.Found:
    known = Aws(world.address) if aws else None
    return newer.ask(list(newer.questions(Registries(world.address), known)))


@pytest.mark.at_length
def test_nothing_is_newer_than_what_is_pinned(world: World) -> None:
    found = asked(as_pinned(world))

    assert list(found.lines()) == []
    assert len(found.same) > 80


def test_each_registry_tells_of_what_is_newer(world: World) -> None:
    as_pinned(world)
    keda = "kedacore.github.io/charts/index.yaml"
    releases = ["2.21.0", "2.20.2", "2.22.0-rc.1"]
    world.texts[keda] = yaml.safe_dump({"entries": {"keda": [{"version": v} for v in releases]}})
    karpenter = versions.KARPENTER.repository.removeprefix("oci://")
    world.tags[karpenter] = ["1.14.1", "1.14.3", "1.9.9", "1.15.0-rc.0", "latest"]
    world.closed.add(karpenter)
    world.tags[versions.PYTHON.repository] += ["3.13.17-slim", "3.14.1-slim", "3.13.18"]
    world.tags[versions.CLUSTER_AUTOSCALER_IMAGE] += ["v1.35.11", "v1.37.0"]
    kinds = gpu_instance_types().items()
    world.texts[PRICES] = prices(
        {n: p for n, t in kinds if (p := t.price("us-east-1"))} | {"g6.xlarge": 0.7}
    )
    eks = "/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/x86_64/nvidia/recommended"
    world.parameters[f"{eks}/release_version"] = "1.35.9-20261215"
    world.addons["coredns", "1.35"] = "v1.13.2-eksbuild.40"

    assert list(asked(world).lines()) == [
        "chart karpenter: 1.14.1 -> 1.14.3",
        "chart keda: 2.20.2 -> 2.21.0",
        "image cluster-autoscaler for 1.35: 1.35.2 -> 1.35.11",
        f"image {versions.PYTHON.repository}: 3.13.16-slim -> 3.13.17-slim",
        "price of g6.xlarge: 0.8048 -> 0.7",
        "machine image AL2023 for 1.35: 1.35.8-20260930 -> 1.35.9-20261215",
        "add-on coredns for 1.35: v1.13.2-eksbuild.31 -> v1.13.2-eksbuild.40",
    ]


def test_who_does_not_answer_stops_nobody_else(world: World) -> None:
    as_pinned(world)
    del world.texts["kedacore.github.io/charts/index.yaml"]
    del world.tags[versions.KARPENTER_CRDS.repository.removeprefix("oci://")]
    del world.texts["simple/moto/"]
    world.texts[PRICES] = "moved"
    world.parameters.clear()

    found = asked(world)

    silent = {each.name for each, _ in found.unanswered}
    assert {"chart keda", "chart karpenter-crd", "moto, requirements.txt"} < silent
    assert {"machine image Bottlerocket", "price of g6.xlarge"} < silent
    assert "chart gpu-operator" in {each.name for each in found.same}
    assert not found.newer


@pytest.mark.at_length
def test_versions_are_written_with_the_day_and_nothing_else(world: World) -> None:
    as_pinned(world)
    place = "kedacore.github.io/charts/index.yaml"
    world.texts[place] = yaml.safe_dump({"entries": {"keda": [{"version": "2.21.0"}]}})
    world.tags[versions.PYTHON.repository] += ["3.13.17-slim"]
    world.tags[versions.CLUSTER_AUTOSCALER_IMAGE] += ["v1.35.11"]
    for kubernetes in versions.KUBERNETES_VERSIONS:
        world.addons["vpc-cni", kubernetes] = "v1.23.0-eksbuild.1"
    world.addons["aws-ebs-csi-driver", "1.35"] = "v1.67.0-eksbuild.1"
    world.addons["aws-ebs-csi-driver", "1.36"] = "v1.68.0-eksbuild.1"
    before = newer.FILE.read_text(encoding="utf-8")

    text = newer.written(before, asked(world), Registries(world.address), DAY)

    made: dict[str, Any] = {"__name__": "made"}
    exec(compile(text, "versions.py", "exec"), made)  # noqa: S102  (our own module, edited)
    assert (made["KEDA"].version, made["KEDA"].read) == ("2.21.0", DAY)
    assert (made["KARPENTER"].version, made["KARPENTER"].read) == ("1.14.1", DAY)
    assert made["PYTHON"].tag == "3.13.17-slim"
    assert made["PYTHON"].digest == "sha256:" + f"{len('3.13.17-slim'):064x}"
    assert made["PAUSE"]._replace(read=DAY) == versions.PAUSE._replace(read=DAY)
    assert made["cluster_autoscaler_tag"]("1.35") == "v1.35.11"
    assert made["cluster_autoscaler_tag"]("1.36") == versions.cluster_autoscaler_tag("1.36")
    assert made["CLUSTER_AUTOSCALERS_READ"] == made["AMIS_READ"] == DAY
    for kubernetes in versions.KUBERNETES_VERSIONS:
        addons = made["addon_versions"](kubernetes)
        assert addons["vpc-cni"].version == "v1.23.0-eksbuild.1"
        # Of one pin for every version of Kubernetes there is no newer one for all of them.
        assert addons["aws-ebs-csi-driver"].version == "v1.66.0-eksbuild.1"


@pytest.mark.at_length
def test_the_command_reports_as_markdown(
    world: World, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    as_pinned(world)
    world.tags[versions.PYTHON.repository] += ["3.13.17-slim"]
    report = tmp_path / "newer.md"

    assert newer.main(["--through", world.address, "--report", str(report)]) == 0
    line = f"image {versions.PYTHON.repository}: 3.13.16-slim -> 3.13.17-slim"
    assert capsys.readouterr().out == f"{line}\n"
    assert report.read_text(encoding="utf-8") == f"* {line}\n"


@pytest.mark.at_length
def test_where_nobody_answers_at_all_it_fails(world: World) -> None:
    assert newer.main(["--through", world.address]) == 1


def test_a_release_is_newer_than_what_comes_before_it() -> None:
    assert newest(["v1.2.0", "v1.10.0", "v1.11.0-rc.1", "latest"]) == "v1.10.0"
    with pytest.raises(AskedError, match="no release"):
        newest(["latest", "1.0.0-beta.1"])
