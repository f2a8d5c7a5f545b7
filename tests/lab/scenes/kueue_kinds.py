"""Kueue's kinds without Kueue: its objects are there to be read, and nothing refuses pods."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import yaml

from eks_gpushare_lab.binaries import build, versions
from eks_gpushare_lab.client import ApiError
from eks_gpushare_lab.controllers import kueue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eks_gpushare_lab.client import Client
    from eks_gpushare_lab.install.desired_cluster import DesiredCluster

_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def _is_served(client: Client, plural: str) -> bool:
    """Whether objects can be read: at first an API server says that it sets up their storage."""
    try:
        return client.get(f"/apis/{kueue.GROUP}/v1beta2/{plural}") is not None
    except ApiError:
        return False


@contextmanager
def kinds_of_kueue(
    client: Client, desired: DesiredCluster, eventually: Callable[..., bool]
) -> Iterator[None]:
    """Have its kinds there where a stack has objects of them."""
    if not kueue.wanted(desired.objects, desired.releases):
        yield
        return
    files = build.programs((versions.kueue_manifests(),)).files[versions.kueue_manifests().name]
    given = [
        each
        for file in files
        for each in yaml.safe_load_all(file.read_text(encoding="utf-8"))
        if each and each.get("kind") == "CustomResourceDefinition"
    ]
    for each in given:
        client.apply(each)
    plurals = [each["spec"]["names"]["plural"] for each in given]
    assert eventually(lambda: all(_is_served(client, plural) for plural in plurals))
    try:
        yield
    finally:
        for each in given:
            client.delete(f"{_DEFINITIONS}/{each['metadata']['name']}")
