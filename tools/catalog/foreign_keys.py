"""Make the tables of keys that Karpenter's objects and eksctl's files have.

    python tools/catalog/foreign_keys.py --out components/eks_gpushare/catalog/data \
        --karpenter v1.15.1=FOLDER --eksctl v0.230.0=schema.json

FOLDER holds Karpenter's CustomResourceDefinitions, as `pkg/apis/crds` of its AWS provider does, and
schema.json is eksctl's `pkg/apis/eksctl.io/v1alpha5/assets/schema.json`. A second run writes the
same bytes.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import yaml

_ABOUT = (
    "Keys of each kind of object. null: a value, or a mapping with keys of the user's own; text: "
    "what a value has to match. A list's keys are those of its items. Made by "
    "tools/catalog/foreign_keys.py."
)
_OTHERWISE = (
    *("operator", "effect", "consolidationPolicy", "volumeSize"),
    *("values", "key", "value", "id"),
)
"""Keys whose values are judged with words of their own, and `id`, which documentation makes up."""
_KINDS = ("NodePool", "NodeClaim", "NodeOverlay", "EC2NodeClass")
_DEEPEST = 8


def of_definition(
    schema: dict[str, Any], refs: dict[str, Any], depth: int = 0, *, texts: bool = False
) -> Any:
    """The keys below a JSON Schema, None where anything goes; with `texts`, what values match."""
    if "$ref" in schema:
        schema = refs[schema["$ref"].rpartition("/")[2]]
    if "items" in schema:
        return of_definition(schema["items"], refs, depth, texts=texts)
    properties = schema.get("properties")
    if not properties or depth > _DEEPEST:
        return _text_of(schema) if texts else None
    return {
        key: of_definition(properties[key], refs, depth + 1, texts=texts and key not in _OTHERWISE)
        for key in sorted(properties)
    }


def _text_of(schema: dict[str, Any]) -> str | None:
    """What a text matches, by its pattern or the words that there are."""
    words = schema.get("enum")
    return f"^({'|'.join(words)})$" if words else schema.get("pattern")


def types_of(schema: dict[str, Any], path: str = "") -> dict[str, str]:
    """What values are to be, by their places with dots between; `[]` ends that of an item."""
    found = {path: schema["type"]} if path and "type" in schema else {}
    inner = schema.get("items", schema)
    if inner is not schema and "type" in inner:
        found[f"{path}[]"] = inner["type"]
    for key, below in inner.get("properties", {}).items():
        found |= types_of(below, f"{path}.{key}".lstrip("."))
    return found


def karpenter(folder: Path) -> dict[str, Any]:
    """Keys of Karpenter's kinds, by their definitions."""
    found = {}
    for file in sorted(folder.glob("karpenter*.yaml")):
        crd = yaml.safe_load(file.read_text(encoding="utf-8"))["spec"]
        kind = crd["names"]["kind"]
        if kind in _KINDS:
            (version,) = (each for each in crd["versions"] if each.get("storage"))
            schema = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
            keys = of_definition(schema, {}, texts=True)
            api_version = f"{crd['group']}/{version['name']}"
            found[kind] = {"version": api_version, "spec": keys, "types": types_of(schema)}
    return found


def eksctl(file: Path) -> dict[str, Any]:
    """Keys of eksctl's one kind."""
    schema = json.loads(file.read_text(encoding="utf-8"))
    refs = schema["definitions"]
    keys = of_definition({"$ref": "#/ClusterConfig"}, refs)
    keys["identityProviders"] = None  # whose keys depend on its type, which the schema does not say
    return {"ClusterConfig": keys}


def main() -> None:
    """Write both tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--karpenter", required=True, metavar="VERSION=FOLDER")
    parser.add_argument("--eksctl", required=True, metavar="VERSION=FILE")
    given = parser.parse_args()
    for name, kinds in (("karpenter", karpenter), ("eksctl", eksctl)):
        version, _, place = getattr(given, name).partition("=")
        table = {"about": _ABOUT, "version": version, "kinds": kinds(Path(place))}
        text = json.dumps(table, separators=(",", ":"), sort_keys=True)
        (given.out / f"{name}-keys.json").write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
