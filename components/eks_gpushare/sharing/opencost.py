"""Prices of nodes in the form in which OpenCost's CSV provider reads them.

Columns and what each is matched with are those of `pkg/cloud/provider/csvprovider.go` of
https://github.com/opencost/opencost (read at 5f653330, October 2024), which Kubecost describes in
https://github.com/kubecost/docs/blob/v1.x/install-and-configure/advanced-configuration/csv-pricing.md.
Its rows of the class `gpu` are left out: such a price is added to that of the node, for as many
devices as the node has under the name `nvidia.com/gpu`, and then a part of the sum is divided among
CPU and memory once more.
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eks_gpushare.sharing.cost_split import PaidNodes

_COLUMNS: Final = (
    *("EndTimestamp", "InstanceID", "Region", "AssetClass"),
    *("InstanceIDField", "InstanceType", "MarketPriceHourly", "Version"),
)
_TYPE_FIELD: Final = "metadata.labels.node.kubernetes.io/instance-type"
"""The label that a row's InstanceID is compared with; of the region it takes the label itself."""


def node_prices_csv(nodes: Iterable[PaidNodes], region: str) -> str:
    """A row for each instance type whose price is known.

    Args:
        nodes: Nodes of a stack, and types that it may have. Of one type all cost the same.
        region: Where they are.
    """
    prices = {each.instance_type: each.price for each in nodes if each.price is not None}
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for instance_type, price in sorted(prices.items()):
        amount = f"{float(price):.6f}"
        writer.writerow(["", instance_type, region, "node", _TYPE_FIELD, instance_type, amount, ""])
    return out.getvalue()
