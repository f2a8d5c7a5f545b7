"""The table of kubelet settings, and the tool that makes it, on types made here.

Where Go's module cache has Kubernetes' own types, the whole table is made again and compared.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import kubelet_fields as tool
import pytest
from packages import GenerateError

from eks_gpushare.catalog.kubelet import kubelet_fields

ROOT = Path(__file__).parents[2]
DATA = ROOT / "components" / "eks_gpushare" / "catalog" / "data" / "kubelet.json"
TEXT = """package v1beta1

type Other struct {
\tName string `json:"name"`
}

// KubeletConfiguration configures.
type KubeletConfiguration struct {
\tmetav1.TypeMeta `json:",inline"`

\t// enableServer enables.
\tEnableServer *bool `json:"enableServer,omitempty"`
\tSyncFrequency metav1.Duration `json:"syncFrequency,omitempty"`
\tAddress string `json:"address"`
\tPort int32 `json:"port,omitempty"`
\tEvictionHard map[string]string `json:"evictionHard,omitempty"`
\tFeatureGates map[string]bool `json:"featureGates,omitempty"`
\tClusterDNS []string `json:"clusterDNS,omitempty"`
\tMemorySwap MemorySwapConfiguration `json:"memorySwap,omitempty"`
}
"""


def test_fields_and_their_kinds_are_read_from_the_types(tmp_path: Path) -> None:
    types = tmp_path / "types.go"
    types.write_text(TEXT, encoding="utf-8")

    assert tool.fields(types) == {
        "enableServer": "boolean",
        "syncFrequency": "duration",
        "address": "text",
        "port": "integer",
        "evictionHard": "texts",
        "featureGates": "booleans",
        "clusterDNS": "list",
        "memorySwap": "block",
    }


def test_a_file_without_the_type_is_named(tmp_path: Path) -> None:
    types = tmp_path / "types.go"
    types.write_text("package v1beta1\n", encoding="utf-8")

    with pytest.raises(GenerateError, match="has no KubeletConfiguration"):
        tool.fields(types)


def test_a_field_says_which_version_brought_it() -> None:
    text = tool.render({"v0.34.0": {"a": "text"}, "v0.35.0": {"a": "list", "b": "text"}})

    assert '"a": ["list", null]' in text
    assert '"b": ["text", "1.35"]' in text


def test_the_table_has_what_the_kubelet_is_mostly_told() -> None:
    fields = kubelet_fields()

    assert fields["maxPods"] == ("maxPods", "integer", None)
    assert fields["userNamespaces"].since == "1.33"


def test_the_table_is_that_of_kubernetes() -> None:
    go = shutil.which("go")
    cache = go and subprocess.run(
        [go, "env", "GOMODCACHE"], capture_output=True, text=True, check=True, timeout=60
    )
    folder = Path(os.environ.get("GOMODCACHE") or (cache and cache.stdout.strip()) or "absent")
    types = {v: folder / "k8s.io" / f"kubelet@{v}" / tool.TYPES for v in tool.VERSIONS}
    if not all(file.is_file() for file in types.values()):
        pytest.skip("no types: run `python tools/catalog/kubelet_fields.py --out FOLDER` once")

    made = tool.render({version: tool.fields(file) for version, file in types.items()})

    assert made == DATA.read_text(encoding="utf-8")
