"""The real Prometheus over the exporters of the simulated nodes.

It stands for whichever the stack's ScaledObjects ask. How it is told to scrape is the lab's own:
a stack has no Prometheus. Labels of the exporter are kept, as ServiceMonitors are commonly told to
(`honorLabels: true`), so that `pod` is the pod that holds the GPU; and scrapes come as much faster
as time passes in the lab. All exporters come in one scrape: Prometheus takes five seconds to see
that there is another target, which is minutes here.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import urllib3

from eks_gpushare_lab.host.folders import write_private

if TYPE_CHECKING:
    from pathlib import Path

    from eks_gpushare_lab.controllers.processes import Processes

NAME = "prometheus"
"""Name of the process and its log."""

SCRAPE_SECONDS = 15
"""Time between scrapes, as the exporter's chart has it."""

_LEAST_SECONDS = 0.5

_OK = 200


def configuration(target: str, faster: float = 1, rules: str = "") -> dict[str, Any]:
    """What it scrapes, and how often.

    Args:
        target: host and port of the metrics of all nodes.
        faster: how many times faster than on EKS.
        rules: file with rules in its folder, if any.
    """
    between = f"{max(_LEAST_SECONDS, SCRAPE_SECONDS / faster) * 1000:.0f}ms"
    return {
        "global": {
            "scrape_interval": between,
            "scrape_timeout": between,
            **({"evaluation_interval": between} if rules else {}),
        },
        **({"rule_files": [rules]} if rules else {}),
        "scrape_configs": [
            {
                "job_name": "lab",
                "honor_labels": True,
                "static_configs": [{"targets": [target]}],
            }
        ],
    }


def start(
    processes: Processes,
    program: Path,
    port: int,
    target: str,
    faster: float = 1,
    rules: str = "",
) -> None:
    """Start it.

    Args:
        processes: starts it.
        program: what to run.
        port: where it is to listen, on 127.0.0.1.
        target: host and port of the metrics of all nodes.
        faster: how many times faster than on EKS.
        rules: file with rules in its folder, if any.
    """
    # JSON is YAML.
    content = json.dumps(configuration(target, faster, rules), indent=1).encode()
    write_private(processes.folder / f"{NAME}.yml", content)
    flags = (
        f"--config.file={NAME}.yml",
        f"--storage.tsdb.path={NAME}",
        "--storage.tsdb.retention.time=1d",
        f"--web.listen-address=127.0.0.1:{port}",
        "--scrape.discovery-reload-interval=1s",
        "--log.level=warn",
    )
    processes.spawn(NAME, program, flags, {})


def is_ready(address: str) -> bool:
    """Whether it answers queries."""
    try:
        answer = urllib3.request("GET", f"{address}/-/ready", retries=False, timeout=5)
    except urllib3.exceptions.HTTPError:
        return False
    return answer.status == _OK
