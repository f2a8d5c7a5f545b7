"""Make the catalog's table of kubelet settings from Kubernetes' own types.

    python tools/catalog/kubelet_fields.py --out components/eks_gpushare/catalog/data

It downloads `k8s.io/kubelet` at the versions below as Go modules, reads the fields of
KubeletConfiguration (v1beta1) and writes kubelet.json: of each field what kind of value it takes,
and the first of those Kubernetes versions that has it.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import packages
from packages import GenerateError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

VERSIONS = ("v0.31.0", "v0.32.0", "v0.33.0", "v0.34.0", "v0.35.4", "v0.36.0")
"""Of k8s.io/kubelet: v0.35 is that of Kubernetes 1.35. Oldest first."""

TYPES = Path("config", "v1beta1", "types.go")
"""Where a module has the type."""
_STRUCT = re.compile(r"^type KubeletConfiguration struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^\t\w+\s+(\S+)\s+`json:\"(\w+)[,\"]", re.MULTILINE)
_KINDS = {
    "string": "text",
    "bool": "boolean",
    "int32": "integer",
    "int64": "integer",
    "float64": "number",
    "metav1.Duration": "duration",
    "ImagePullCredentialsVerificationPolicy": "text",
    "ResourceChangeDetectionStrategy": "text",
}
_SOURCE = "https://pkg.go.dev/k8s.io/kubelet/config/v1beta1#KubeletConfiguration"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the generator; return 0, or 1 after one line that says what is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for kubelet.json")
    options = parser.parse_args(arguments)
    try:
        modules = {
            version: packages.go_module(("k8s.io/kubelet", version), "GOMODCACHE")
            for version in VERSIONS
        }
        text = render({version: fields(folder / TYPES) for version, folder in modules.items()})
    except (GenerateError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    (options.out / "kubelet.json").write_text(text, encoding="utf-8", newline="\n")
    return 0


def fields(types: Path) -> dict[str, str]:
    """The fields of KubeletConfiguration by their name in JSON, and what kind each is.

    Raises:
        GenerateError: If the file has no such type.
    """
    found = _STRUCT.search(types.read_text(encoding="utf-8"))
    if found is None:
        raise GenerateError(f"{types} has no KubeletConfiguration")
    return {name: _kind(kind) for kind, name in _FIELD.findall(found[1])}


def render(by_version: Mapping[str, Mapping[str, str]]) -> str:
    """The text of the data file.

    Args:
        by_version: Fields by version of the module, oldest first. A field is of the kind that it
            has in the newest.
    """
    table: dict[str, list[str | None]] = {}
    for index, (version, found) in enumerate(by_version.items()):
        since = None if index == 0 else f"1.{version.split('.')[1]}"
        for name, kind in found.items():
            table[name] = [kind, table[name][1] if name in table else since]
    oldest, *_, newest = by_version
    head = {"source": _SOURCE, "modules": f"k8s.io/kubelet {oldest} to {newest}"}
    rows = ",\n".join(f"    {json.dumps(name)}: {json.dumps(row)}" for name, row in table.items())
    first = json.dumps(head, indent=2).removesuffix("\n}")
    return f'{first},\n  "fields": {{\n{rows}\n  }}\n}}\n'


def _kind(go: str) -> str:
    bare = go.removeprefix("*")
    if bare.startswith("[]"):
        return "list"
    if bare.startswith("map[string]"):
        return {"string": "texts", "bool": "booleans"}.get(
            bare.removeprefix("map[string]"), "block"
        )
    return _KINDS.get(bare, "block")


if __name__ == "__main__":
    sys.exit(main())
