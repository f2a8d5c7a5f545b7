"""Charts that a program or a task installs, with values that stand in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.inventory.values import text
from eks_gpushare.manifests.charts import chart_named, release, version_of, within_values
from eks_gpushare.manifests.document import Read
from eks_gpushare.manifests.readers.helm_objects import is_read_by_itself
from eks_gpushare.manifests.readers.values_elsewhere import unless_elsewhere

if TYPE_CHECKING:
    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.manifests.document import Document


def installed(
    document: Document,
    place: FieldPath,
    chart: Any,
    values: Any,
    *,
    name: Any,
    namespace: Any,
    version: Any,
    elsewhere: bool,
) -> Read:
    """The release of a chart that says something of GPUs; of others what values make by themselves.

    Args:
        document: Where it stands.
        place: Where its values stand there.
        chart: The chart as it is named. A folder may have any name, and any values.
        values: The values.
        name: The release's.
        namespace: Where it goes.
        version: The chart's.
        elsewhere: Whether it has values of other places too, over which these go.
    """
    is_folder = str(chart).startswith((".", "/", "~"))
    named = None if is_folder else chart_named(chart)
    if named is None:
        alone = isinstance(values, dict) and not elsewhere and is_read_by_itself(values)
        return Read(inner=[document.inside(place, values)] if alone else [])
    item = release(
        document,
        named,
        values,
        name=text(name),
        namespace=text(namespace),
        version=version_of(chart, version),
        path=place,
    )
    item = unless_elsewhere(item) if elsewhere else item
    return Read([item], inner=list(within_values(document, place)))
