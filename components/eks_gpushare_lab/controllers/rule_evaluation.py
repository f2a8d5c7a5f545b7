"""The rules of a stack in a real Prometheus, over what the lab's nodes and pods are.

It is light: Prometheus is looked for only where a PrometheusRule is installed or applied. The kinds
of Prometheus' operator are stand-ins that take every field: there is no operator, and the lab hands
the groups to Prometheus itself. Time passes as it does, so that an alert fires once it has lasted.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from eks_gpushare_lab.binaries import build, cleaning, versions
from eks_gpushare_lab.controllers.processes import Processes
from eks_gpushare_lab.host.folders import make_private, write_private
from eks_gpushare_lab.host.ports import reserved

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from eks_gpushare_lab.client import Client, Object
    from eks_gpushare_lab.control_plane.state import Lab
    from eks_gpushare_lab.controllers.web import Answer, Web
    from eks_gpushare_lab.observing.watches import Watches
    from eks_gpushare_lab.simulated_node.config_file import Configuration
    from eks_gpushare_lab.simulated_node.exporters import Exporters

GROUP = "monitoring.coreos.com"
"""API group of the kinds of Prometheus' operator."""
_KINDS = {"ServiceMonitor": "servicemonitors", "PrometheusRule": "prometheusrules"}
_FOLDER = "rules"
_FILE = "rules.json"
_OK = 200


class RuleEvaluation:
    """Has Prometheus there as soon as rules are to be installed."""

    def __init__(
        self,
        client: Client,
        lab: Lab | None,
        watches: Watches,
        configuration: Callable[[str], Configuration | None],
    ) -> None:
        """Start nothing.

        Args:
            client: the API server.
            lab: whose it is; None for somebody's, who starts no further programs.
            watches: what is there.
            configuration: what the device plugin of a node runs with, None if none serves.
        """
        self._client, self._lab, self._watches = client, lab, watches
        self._configuration = configuration
        self._exporters: Exporters | None = None
        self._processes: Processes | None = None
        self._server: Web | None = None
        self.address = ""
        """Address of Prometheus; `""` before it is started."""

    def start_for(self, objects: Sequence[Object]) -> None:
        """Have the kinds there, and Prometheus if any object has rules.

        Raises:
            LabError: If it cannot be built or started.
        """
        mine = [obj for obj in objects if obj["apiVersion"].partition("/")[0] == GROUP]
        if self._lab is None or not mine:
            return
        for definition in definitions():
            if self._client.get(self._client.path_of(definition)) is None:
                self._client.apply(definition)
        groups = [
            group
            for obj in mine
            if obj["kind"] == "PrometheusRule"
            for group in obj["spec"]["groups"]
        ]
        if groups and self._processes is None:
            with cleaning.in_use():
                tool = versions.prometheus()
                self._run(self._lab, build.programs((tool,)), groups)

    def _run(self, lab: Lab, built: build.Programs, groups: list[dict[str, Any]]) -> None:
        from eks_gpushare_lab.controllers import prometheus, web
        from eks_gpushare_lab.simulated_node.exporters import Exporters

        exporters = self._exporters = Exporters(self._client, self._watches, self._configuration)
        exporters.start()
        folder = make_private(lab.directory / _FOLDER)
        write_private(folder / _FILE, json.dumps({"groups": groups}).encode())
        processes = self._processes = Processes(folder, lab.logs)
        server = self._server = web.Web(self._answer)
        with reserved(1) as (port,):
            self.address = f"http://127.0.0.1:{port}"
            program = built.paths[prometheus.NAME]
            prometheus.start(processes, program, port, server.address, rules=_FILE)
            processes.wait("Prometheus", lambda: prometheus.is_ready(self.address))

    def _answer(self, _method: str, _path: str, _body: bytes) -> Answer:
        """Metrics of the exporters, and of nodes and pods."""
        from eks_gpushare_lab.controllers import state_metrics, web

        states = state_metrics.page(self._watches.nodes.all(), self._watches.pods.all())
        exporters = self._exporters.page() if self._exporters else ""
        return _OK, web.TEXT, f"{exporters}{states}".encode()

    def query(self, text: str) -> list[dict[str, Any]]:
        """What Prometheus answers a query: the labels and the value of each series."""
        import urllib3

        call = f"{self.address}/api/v1/query?{urlencode({'query': text})}"
        answer = urllib3.request("GET", call, retries=False, timeout=20)
        found = json.loads(answer.data)
        if found.get("status") != "success":
            raise ValueError(found.get("error", answer.status))
        return [
            {"labels": each["metric"], "value": float(each["value"][1])}
            for each in found["data"]["result"]
        ]

    def stop(self) -> None:
        """End what was started."""
        if self._processes is not None:
            self._processes.stop()
        if self._server is not None:
            self._server.stop()
        if self._exporters is not None:
            self._exporters.stop()


def definitions() -> Iterator[Object]:
    """Definitions of the kinds, which take every field."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    for kind, plural in _KINDS.items():
        yield {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{GROUP}"},
            "spec": {
                "group": GROUP,
                "scope": "Namespaced",
                "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
                "versions": [
                    {
                        "name": "v1",
                        "served": True,
                        "storage": True,
                        "schema": {
                            "openAPIV3Schema": {"type": "object", "properties": {"spec": anything}}
                        },
                    }
                ],
            },
        }
