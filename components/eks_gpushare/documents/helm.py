"""Values of Helm charts, merged as Helm merges them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def merge_values(
    below: Mapping[str, Any], above: Mapping[str, Any], *, keep_null: bool = False
) -> dict[str, Any]:
    """Two sets of values as one: mappings key by key, anything else as a whole.

    A null above removes the key below it, as from a chart's defaults:
    https://helm.sh/docs/chart_template_guide/values_files/#deleting-a-default-key

    Args:
        below: What holds where nothing else is said. It stays as it is.
        above: What is said.
        keep_null: Leave nulls in the result, as Helm does with one values file over another: the
            chart's defaults, which they are for, come under it later.
    """
    result = dict(below)
    for key, value in above.items():
        base = result.get(key)
        if value is None and not keep_null:
            result.pop(key, None)
        elif isinstance(base, dict) and isinstance(value, dict):
            result[key] = merge_values(base, value, keep_null=keep_null)
        else:
            result[key] = value
    return result


def value_at(values: Mapping[str, Any], path: str, absent: Any = None) -> Any:
    """The value at a path such as `nfd.worker.affinity`.

    Args:
        values: The values.
        path: Keys with dots between them.
        absent: What there is in its place where there is none.
    """
    found: Any = values
    for key in path.split("."):
        found = found.get(key, absent) if isinstance(found, dict) else absent
    return found
