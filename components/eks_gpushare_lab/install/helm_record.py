"""The record of a release, as Helm keeps it in the cluster.

With it the API server alone tells what was installed with which values, to people (`helm list`)
and to programs.
"""

from __future__ import annotations

import base64
import gzip
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from eks_gpushare_lab.client import Object
    from eks_gpushare_lab.install.release import DeclaredRelease

_TYPE = "helm.sh/release.v1"


def record_of(release: DeclaredRelease, revision: int = 1) -> Object:
    """The Secret that Helm would write for a release that is deployed.

    Args:
        release: the release.
        revision: its number.
    """
    content = {
        "name": release.name,
        "namespace": release.namespace,
        "version": revision,
        "info": {
            "status": "deployed",
            "description": "The lab has made what matters of it",
        },
        "chart": {"metadata": {"name": release.chart, "version": release.version}},
        "config": dict(release.values),
    }
    packed = gzip.compress(json.dumps(content, sort_keys=True).encode(), mtime=0)
    # Helm encodes by itself, and the API server once more.
    data = base64.b64encode(base64.b64encode(packed)).decode()
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": _TYPE,
        "metadata": {
            "name": f"sh.helm.release.v1.{release.name}.v{revision}",
            "namespace": release.namespace,
            "labels": {
                "owner": "helm",
                "name": release.name,
                "status": "deployed",
                "version": str(revision),
            },
        },
        "data": {"release": data},
    }


def values_in(records: Iterable[Object]) -> Mapping[str, Any] | None:
    """The values that a release was given, of its newest record; None without one.

    Args:
        records: its Secrets, one for each revision.
    """
    by_revision = {int(record["metadata"]["labels"]["version"]): record for record in records}
    if not by_revision:
        return None
    packed = base64.b64decode(base64.b64decode(by_revision[max(by_revision)]["data"]["release"]))
    found: Mapping[str, Any] = json.loads(gzip.decompress(packed)).get("config") or {}
    return found
