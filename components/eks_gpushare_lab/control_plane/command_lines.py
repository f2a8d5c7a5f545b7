"""How each process of the control plane is started.

Everything listens on 127.0.0.1 or not at all. What EKS documents as switched on, is: RBAC, and the
admission plugins, of which ExtendedResourceToleration is the one that upstream leaves off:
https://docs.aws.amazon.com/eks/latest/userguide/platform-versions.html
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from eks_gpushare_lab.control_plane.names import (
    ADMITTED,
    FRONT_PROXY,
    SERVICE_ADDRESSES,
    SIMULATED_NODE,
)
from eks_gpushare_lab.host.folders import write_private

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

REQUESTS_PER_SECOND = 2000
"""For the controller manager and the scheduler. With their defaults of 20 and 50 a cluster takes
seconds longer to get its first service account, and pods wait for the client, not for a node."""

BACKOFF_SECONDS = 4
"""How long the scheduler waits at most until it tries a pod again; 10 in EKS, which is as long as
the lab waits for controllers that seem late."""

HPA_SECONDS = 1
"""How often the controller of HorizontalPodAutoscalers looks; 15 in EKS."""

_STORE = "unix://localhost:1"  # the sockets `localhost:1` and `:2` in the working directory;
_PEERS = "unix://localhost:2"  # on TCP every user of the machine could read and write the store

_STARTS_PODS = "pod-ready"
"""kwok's stage that makes a pod run once it has a node."""

_UNDECIDED = f"""\
select((.metadata.annotations // {{}})["{ADMITTED}"] == null)
| .spec.containers[].resources.limits // {{}} | to_entries[]
| select((.key | startswith("nvidia.com/")) and .value != "0" and .value != "1")"""
"""In jq, what makes a pod wait: it asks for several devices of a kind, and is not admitted yet."""


def etcd() -> list[str]:
    """The store, on sockets in its working directory. It forgets everything with the lab."""
    return [
        "--data-dir=etcd",
        "--unsafe-no-fsync",
        f"--listen-client-urls={_STORE}",
        f"--advertise-client-urls={_STORE}",
        f"--listen-peer-urls={_PEERS}",
        f"--initial-advertise-peer-urls={_PEERS}",
        f"--initial-cluster=default={_PEERS}",
    ]


def api_server(port: int) -> list[str]:
    """The API server. ServiceAccount, ResourceQuota, PodSecurity and others are on by default."""
    return [
        f"--etcd-servers={_STORE}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        "--endpoint-reconciler-type=none",
        f"--secure-port={port}",
        "--tls-cert-file=apiserver.crt",
        "--tls-private-key-file=apiserver.key",
        "--client-ca-file=ca.crt",
        "--anonymous-auth=false",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction,ExtendedResourceToleration",
        "--allow-privileged=true",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--service-account-key-file=sa.key",
        "--service-account-signing-key-file=sa.key",
        f"--service-cluster-ip-range={SERVICE_ADDRESSES}",
        # By these it asks other API servers in a user's name, KEDA's for external metrics.
        "--requestheader-client-ca-file=front-proxy-ca.crt",
        f"--requestheader-allowed-names={FRONT_PROXY}",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        "--proxy-client-cert-file=front-proxy.crt",
        "--proxy-client-key-file=front-proxy.key",
    ]


def controller_manager() -> list[str]:
    """The controllers. They never find a node dead: kwok's send no heartbeats."""
    return [
        "--kubeconfig=kube-controller-manager.kubeconfig",
        "--service-account-private-key-file=sa.key",
        "--root-ca-file=ca.crt",
        "--use-service-account-credentials=true",
        "--secure-port=0",
        "--leader-elect=false",
        f"--kube-api-qps={REQUESTS_PER_SECOND}",
        f"--kube-api-burst={2 * REQUESTS_PER_SECOND}",
        "--node-monitor-grace-period=24h",
        # 15 s in EKS: what scales by metrics would take minutes to show.
        f"--horizontal-pod-autoscaler-sync-period={HPA_SECONDS}s",
    ]


def scheduler(directory: Path, settings: Mapping[str, Any]) -> list[str]:
    """The scheduler, as it comes but for its request rate, its longest pause and `settings`.

    Writes its configuration into the directory.
    """
    connection = {
        "kubeconfig": "kube-scheduler.kubeconfig",
        "qps": REQUESTS_PER_SECOND,
        "burst": 2 * REQUESTS_PER_SECOND,
    }
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": connection,
        "leaderElection": {"leaderElect": False},
        "podMaxBackoffSeconds": BACKOFF_SECONDS,
        **settings,
    }
    write_private(directory / "scheduler.json", json.dumps(configuration, indent=1).encode())
    return ["--config=scheduler.json", "--secure-port=0"]


def kwok(directory: Path, stages: Sequence[str]) -> list[str]:
    """What plays the kubelets, for nodes with our annotation only.

    Writes the stage that starts pods into the directory, with the one condition more.
    """
    key, value = SIMULATED_NODE
    return [
        "--kubeconfig=kwok.kubeconfig",
        f"--manage-nodes-with-annotation-selector={key}={value}",
        *(f"--config={_after_admission(directory, Path(stage))}" for stage in stages),
        "--server-address=",
        "--node-lease-duration-seconds=0",
    ]


def _after_admission(directory: Path, stage: Path) -> Path:
    """A stage as it is, or a copy of it that starts no pod whose devices may yet be refused."""
    content = yaml.safe_load(stage.read_text(encoding="utf-8"))
    if content["metadata"]["name"] != _STARTS_PODS:
        return stage
    waits = {"key": _UNDECIDED, "operator": "DoesNotExist"}
    content["spec"]["selector"]["matchExpressions"].append(waits)
    file = directory / f"{_STARTS_PODS}.json"
    write_private(file, json.dumps(content, indent=1).encode())
    return file
