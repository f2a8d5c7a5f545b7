"""What EC2 is told of machines, read alike in all formats that name it alike.

Terraform writes `metadata_options`, CloudFormation `MetadataOptions`, Karpenter `metadataOptions`:
the words are those of EC2 everywhere, and only how they are joined differs. Terraform has blocks in
lists besides.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from eks_gpushare.documents.quantity import quantity
from eks_gpushare.inventory.items import NodeLaunch, NodeVolume
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.source import Maybe, Source

_GIB = 2**30


def launch_of(source: Source, name: Maybe[str], data: Any) -> NodeLaunch:
    """What a launch template or a node class tells EC2.

    Args:
        source: Where it stands; paths go on from there.
        name: Its name.
        data: It, in the words of its format.
    """
    at_metadata, options = _found(data, "metadataoptions")
    hops = _value(options, "httpputresponsehoplimit")
    at_address, address = _address(data)
    return NodeLaunch(
        source=source,
        name=name,
        endpoint=text(_value(options, "httpendpoint")),
        tokens=text(_value(options, "httptokens")),
        hops=hops if isinstance(hops, int) or hops is UNKNOWN else None,
        metadata_path=at_metadata,
        volumes=_volumes(data),
        public_address=address,
        address_path=at_address,
        efa_only=_efa_only(data),
    )


def pods_of_class(spec: Any) -> Maybe[int | None]:
    """Most pods of a node, as an EC2NodeClass says; None where it does not."""
    found = at(spec, "kubelet", "maxPods")
    is_whole = isinstance(found, int) and not isinstance(found, bool)
    return found if is_whole or found is UNKNOWN else None


def with_disk(source: Source, name: Maybe[str], size: Any, path: FieldPath) -> NodeLaunch | None:
    """What a node group of EKS says itself, which is the size of its disk; None if it does not."""
    return (
        None
        if size is None
        else NodeLaunch(source=source, name=name, volumes=(NodeVolume("", None, gib(size), path),))
    )


def switched(value: Any) -> Maybe[bool | None]:
    """A switch that may be written as text; None where it is neither on nor off."""
    given = text(value)
    return UNKNOWN if given is UNKNOWN else {"true": True, "false": False}.get(given.lower())


def gib(value: Any) -> Maybe[Fraction | None]:
    """A size: GiB as EC2 counts it, or a quantity of Kubernetes."""
    return UNKNOWN if value is UNKNOWN else _gib(value)


def _gib(value: Any) -> Fraction | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return Fraction(value) if value > 0 else None
    if not isinstance(value, str) or (found := quantity(value)) is None:
        return None
    return found if value.isascii() and value.isdecimal() else found / _GIB


def _found(value: Any, name: str) -> tuple[FieldPath, Any]:
    """What has a name, however it is joined, and its place; a list of one block is the block."""
    if value is UNKNOWN:
        return (), UNKNOWN
    keys = value if isinstance(value, Mapping) else {}
    key = next((key for key in keys if str(key).replace("_", "").lower() == name), None)
    if key is None:
        return (), None
    found = keys[key]
    if isinstance(found, list) and len(found) == 1 and isinstance(found[0], Mapping):
        return (str(key), 0), found[0]
    return (str(key),), found


def _value(value: Any, name: str) -> Any:
    return _found(value, name)[1]


def _each(value: Any, name: str) -> Iterator[tuple[FieldPath, Any]]:
    path, found = _found(value, name)
    if isinstance(found, list):
        yield from (((*path, index), entry) for index, entry in enumerate(found))
    elif found is not None:
        yield path, found


def _volumes(data: Any) -> Maybe[tuple[NodeVolume, ...]]:
    # Karpenter then has images on the disks of the instance, and this is the system's.
    local = _value(data, "instancestorepolicy") is not None
    mappings = list(_each(data, "blockdevicemappings"))
    if any(mapping is UNKNOWN for _, mapping in mappings):
        return UNKNOWN
    made = []
    for path, mapping in mappings:
        below, ebs = _found(mapping, "ebs")
        if ebs is None or ebs == []:
            continue
        made.append(
            NodeVolume(
                text(_value(mapping, "devicename")),
                switched(_value(ebs, "encrypted")),
                None if local else gib(_value(ebs, "volumesize")),
                (*path, *below),
            )
        )
    return tuple(made)


def _address(data: Any) -> tuple[FieldPath, Maybe[bool | None]]:
    """Of a node class itself, or of the interfaces of a launch template."""
    path, own = _found(data, "associatepublicipaddress")
    if own is not None:
        return path, switched(own)
    for above, interface in _each(data, "networkinterfaces"):
        below, given = _found(interface, "associatepublicipaddress")
        if given is not None:
            return (*above, *below), switched(given)
    return (), None


def _efa_only(data: Any) -> Maybe[int]:
    """Of the default network card, which is 0 and need not be named."""
    count = 0
    for _, interface in _each(data, "networkinterfaces"):
        kind, card = _value(interface, "interfacetype"), _value(interface, "networkcardindex")
        if any(each is UNKNOWN for each in (kind, card)):
            return UNKNOWN
        if kind == "efa-only" and card in {None, 0, "0"}:
            count += 1
    return count
