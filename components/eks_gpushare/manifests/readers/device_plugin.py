"""Configurations of NVIDIA's device plugin, as files or within ConfigMaps and Helm values."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.catalog.gpus import MPS_CLIENTS
from eks_gpushare.documents.reading import is_guide
from eks_gpushare.inventory.problem import Edit, Problem
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.inventory.values import PartlyKnown
from eks_gpushare.manifests.document import Read
from eks_gpushare.manifests.readers.mig_names import wrong_mig_name
from eks_gpushare.manifests.readers.words import close_to, plain, shown
from eks_gpushare.manifests.rules import device_plugin as rules

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eks_gpushare.findings.finding import FieldPath, Severity
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.manifests.document import Document

VERSION: Final = "v1"
_PREFIX: Final = "nvidia.com/"
_STRATEGIES: Final = ("none", "single", "mixed")
_LISTS: Final = ("envvar", "volume-mounts", "cdi-annotations", "cdi-cri")
_SHARINGS: Final = ("timeSlicing", "mps")
_LONGEST_NAME: Final = 63

_KEYS: Final[Mapping[FieldPath, tuple[str, ...]]] = {
    (): ("version", "flags", "resources", "sharing", "imex"),
    ("flags",): (
        *("migStrategy", "failOnInitError", "mpsRoot", "nvidiaDriverRoot", "nvidiaDevRoot"),
        *("gdrcopyEnabled", "gdsEnabled", "mofedEnabled", "useNodeFeatureAPI"),
        *("deviceDiscoveryStrategy", "plugin", "gfd"),
    ),
    ("flags", "plugin"): (
        *("passDeviceSpecs", "deviceListStrategy", "deviceIDStrategy", "cdiAnnotationPrefix"),
        *("nvidiaCTKPath", "containerDriverRoot", "sharedDevicesAllocationPolicy"),
    ),
    ("flags", "gfd"): (
        *("oneshot", "noTimestamp", "sleepInterval", "outputFile", "machineTypeFile"),
    ),
    ("imex",): ("channelIDs", "required"),
    ("sharing",): _SHARINGS,
    **{
        ("sharing", sharing): ("renameByDefault", "failRequestsGreaterThanOne", "resources")
        for sharing in _SHARINGS
    },
}
"""The keys of each block."""
_ITEM_KEYS: Final = ("name", "rename", "devices", "replicas")
_BOOLEANS: Final = frozenset(
    (
        *("failOnInitError", "gdrcopyEnabled", "gdsEnabled", "mofedEnabled", "useNodeFeatureAPI"),
        *("passDeviceSpecs", "oneshot", "noTimestamp", "renameByDefault", "required"),
        "failRequestsGreaterThanOne",
    )
)
CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "migStrategy": _STRATEGIES,
    "deviceListStrategy": _LISTS,
    "deviceIDStrategy": ("uuid", "index"),
    "sharedDevicesAllocationPolicy": ("distributed", "packed"),
}
_NAMES_A_FILE: Final = re.compile(r"\s*#[ \t]*[^\s#]+/[^\s#/]+\.ya?ml[ \t]*\r?\n")


class DevicePluginConfigReader:
    """Knows one by its `sharing`, or by `flags` that are the plugin's."""

    name = "device plugin configuration"

    def matches(self, document: Document) -> bool:
        """Whether it is one; other things have an `apiVersion`."""
        value = document.value
        if not isinstance(value, dict) or "apiVersion" in value or "kind" in value:
            return False
        if any(
            isinstance(inner, dict) and close_to(key, ("sharing",)) and _is_sharing(inner)
            for key, inner in value.items()
        ):
            return True
        keys = {plain(key) for key in value}
        if not keys <= {*map(plain, _KEYS[()]), *map(plain, _SHARINGS), *_MISPLACED}:
            return False
        if any(_is_block(value.get(sharing)) for sharing in _SHARINGS):
            return True
        if isinstance(flags := value.get("flags"), dict):
            return not {*_KEYS[("flags",)], "renameByDefault"}.isdisjoint(flags)
        return bool(flags) and value.get("version") == VERSION

    def read(self, document: Document) -> Read:
        """What is wrong with it. What refers to it reads it anew, as leniently as the plugin."""
        return Read(judgements=tuple(judge(document)))


_MISPLACED: Final = frozenset(("renamebydefault", "failrequestsgreaterthanone", "migstrategy"))


def judge(document: Document) -> Iterator[Judgement]:
    """What is wrong with a configuration."""
    config = _Config(document)
    yield from config.version()
    yield from config.blocks()
    yield from config.sharing()


class _Given(NamedTuple):
    """A value with the key as it is written."""

    key: str
    value: Any


class _Config:
    def __init__(self, document: Document) -> None:
        self.source = Source("the device plugin's configuration", document)
        self.value: Mapping[str, Any] = document.value
        alone = document.text is not None and document.text.block is None
        self.excerpt = alone and is_guide(document.file) and len(self.value) == 1

    def version(self) -> Iterator[Judgement]:
        given = _field(self.value, "version")
        if given is None or given.value in (None, ""):
            edits: tuple[Edit, ...] = (Edit("set", (given.key if given else "version",), VERSION),)
            message, fix = "It does not say version: v1.", "Write version: v1 at its top."
            level: Severity | None = "info" if self.excerpt else None
            yield self._problem(rules.NO_VERSION, (), message, fix, edits, severity=level)
        elif given.value not in (UNKNOWN, VERSION):
            message = f"version is {shown(given.value)}; the plugin knows only {VERSION}."
            edits = (Edit("set", (given.key,), VERSION),) if given.value in ("1", 1) else ()
            yield self._problem(
                rules.REFUSED, (given.key,), message, f"Write version: {VERSION}.", edits
            )

    def blocks(self) -> Iterator[Judgement]:
        """Keys and values of everything but the shared resources."""
        for path, keys in _KEYS.items():
            found = self._block(path)
            if found is None:
                continue
            written, block = found
            if not isinstance(block, dict):
                yield from self._no_mapping(written, block)
                continue
            exact = path[:1] == ("sharing",) and len(path) == 2  # noqa: PLR2004
            for key, value in block.items():
                known = _known(key, keys, exact=exact)
                if known is None:
                    yield self._ignored(written, key, keys, block)
                else:
                    yield from self._value((*written, key), known, value)

    def _block(self, path: FieldPath) -> tuple[FieldPath, Any] | None:
        written: tuple[str, ...] = ()
        value: Any = self.value
        for step in path:
            given = _field(value, str(step)) if isinstance(value, dict) else None
            if given is None or given.value is None or given.value is UNKNOWN:
                return None
            written, value = (*written, given.key), given.value
        return written, value

    def _no_mapping(self, written: FieldPath, block: Any) -> Iterator[Judgement]:
        name = ".".join(map(str, written))
        message = f"{name} is {shown(block)}, not a mapping."
        yield self._problem(rules.REFUSED, written, message, "Write keys with values below it.")

    def _ignored(
        self, above: FieldPath, key: str, keys: Sequence[str], block: Mapping[str, Any]
    ) -> Judgement:
        place = ".".join(map(str, above)) or "the top"
        close = close_to(key, keys)
        homes = [path for path, item in _KEYS.items() if key in item]
        message = f"The plugin reads no key {key} at {place}, so it has no effect."
        edits: tuple[Edit, ...] = ()
        if close is not None:
            same = plain(close) == plain(key)
            fix = f"Write it {close}." if same else f"Did you mean {close}?"
            if close not in block:
                edits = (Edit("rename", (*above, key), close),)
        elif homes:
            places = " or ".join(".".join(map(str, home)) or "the top" for home in homes)
            fix = f"Move it to {places}."
        elif key in _ITEM_KEYS and plain(place).startswith("sharing"):
            # Items are in a way to share, which may be missing where the key stands.
            way = place if len(above) > 1 else f"{place}.timeSlicing"
            fix = f"Move it into an item of {way}.resources."
        else:
            fix = f"Remove it; it takes {', '.join(keys)}."
        return self._problem(rules.IGNORED, (*above, key), message, fix, edits)

    def _value(self, path: FieldPath, key: str, value: Any) -> Iterator[Judgement]:
        if value is UNKNOWN or value is None:
            return
        name = ".".join(map(str, path))
        if key in _BOOLEANS and not isinstance(value, bool):
            boolean = {"true": True, "false": False}.get(str(value).strip().lower())
            edits = () if boolean is None else (Edit("set", path, boolean),)
            fix = "Write true or false without quotes."
            message = f"{name} is {shown(value)}, not true or false."
            yield self._problem(rules.REFUSED, path, message, fix, edits)
        elif key in CHOICES:
            given = value if key == "deviceListStrategy" and isinstance(value, list) else [value]
            if key == "deviceListStrategy" and isinstance(value, str):
                given = [item.strip() for item in value.split(",")]
            for each in given:
                if each is not UNKNOWN and each not in CHOICES[key]:
                    allowed = ", ".join(CHOICES[key])
                    message = f"{name} is {shown(each)}, and may be {allowed}."
                    meant = close_to(str(each), CHOICES[key])
                    fix = f"Did you mean {meant}?" if meant else f"Write one of {allowed}."
                    yield self._problem(rules.REFUSED, path, message, fix)

    def sharing(self) -> Iterator[Judgement]:
        """What is shared, how often."""
        strategy = self._strategy()
        given: list[FieldPath] = []
        for block in _SHARINGS:
            found = self._block(("sharing", block))
            if found is not None and isinstance(found[1], dict):
                given.append(found[0])
                yield from self._shared(block, *found, strategy)
        if len(given) > 1:
            message = "It has both timeSlicing and mps; the plugin takes mps."
            fix = "Remove the one that is not meant."
            yield self._problem(rules.BOTH, given[0], message, fix)

    def _strategy(self) -> Any:
        found = self._block(("flags", "migStrategy"))
        return found[1] if found else None

    def _shared(
        self, kind: str, written: FieldPath, block: Mapping[str, Any], strategy: Any
    ) -> Iterator[Judgement]:
        if kind == "mps" and strategy == "mixed":
            message = "migStrategy is mixed, which the plugin does not take with mps."
            fix = "Set flags.migStrategy: none, or share MIG devices by timeSlicing."
            yield self._problem(rules.NOT_WITH_MPS, written, message, fix)
        resources = block.get("resources")
        shows_part = self.excerpt and bool(block) and set(block) < set(_KEYS["sharing", kind])
        if resources is UNKNOWN or (shows_part and "resources" not in block):
            return
        if not isinstance(resources, list) or not resources:
            path = (*written, "resources") if "resources" in block else written
            message = f"sharing.{kind} names no resource."
            fix = "Write resources: [{name: nvidia.com/gpu, replicas: 4}], with a number of yours."
            yield self._problem(rules.REFUSED, path, message, fix)
            return
        seen: set[str] = set()
        for index, entry in enumerate(resources):
            path = (*written, "resources", index)
            if entry is UNKNOWN:
                continue
            if not isinstance(entry, dict):
                message = f"An item of sharing.{kind}.resources is {shown(entry)}, not a mapping."
                yield self._problem(
                    rules.REFUSED, path, message, "Write name and replicas in each item."
                )
                continue
            yield from self._item(kind, path, entry, strategy)
            name = entry.get("name")
            if isinstance(name, str) and name.removeprefix(_PREFIX) in seen:
                message = f"{name} stands there twice; the plugin takes the first."
                yield self._problem(
                    rules.REFUSED, path, message, "Keep one of the two.", severity="warning"
                )
            elif isinstance(name, str):
                seen.add(name.removeprefix(_PREFIX))

    def _item(
        self, kind: str, path: FieldPath, item: Mapping[str, Any], strategy: Any
    ) -> Iterator[Judgement]:
        for key in item:
            if key in _ITEM_KEYS:
                continue
            message = f"The plugin reads no key {key} of a shared resource, so it has no effect."
            close = close_to(key, _ITEM_KEYS)
            above = path[:-2]
            if close is not None:
                edits = (Edit("rename", (*path, key), close),) if close not in item else ()
                fix = f"Did you mean {close}?"
            elif key in _KEYS[("sharing", "timeSlicing")]:
                edits, fix = (), f"Move it to {'.'.join(map(str, above))}, beside resources."
            else:
                edits, fix = (), f"Remove it; an item takes {', '.join(_ITEM_KEYS)}."
            yield self._problem(rules.IGNORED, (*path, key), message, fix, edits)
        yield from self._name(kind, path, item, strategy)
        yield from self._replicas(kind, path, item)
        name = item.get("name")
        rename, devices = item.get("rename"), item.get("devices")
        if rename not in (None, "", UNKNOWN) and rename != f"{name}.shared":
            message = f"rename is {shown(rename)}, which the plugin takes back."
            fix = "Remove it; renameByDefault: true calls shares NAME.shared."
            yield self._problem(rules.RESET, (*path, "rename"), message, fix)
        if devices not in (None, "all", UNKNOWN):
            message = f"devices is {shown(devices)}, which the plugin takes back: all are shared."
            fix = "Remove it. Nodes whose GPUs are not shared need a configuration of their own."
            yield self._problem(rules.RESET, (*path, "devices"), message, fix)

    def _name(
        self, kind: str, path: FieldPath, item: Mapping[str, Any], strategy: Any
    ) -> Iterator[Judgement]:
        name = item.get("name")
        if name is UNKNOWN or (name is None and _misspelt("name", item)):
            return
        if not isinstance(name, str) or not name:
            message = "It names no resource." if name in (None, "") else f"name is {shown(name)}."
            at = (*path, "name") if "name" in item else path
            yield self._problem(rules.REFUSED, at, message, "Write name: nvidia.com/gpu.")
            return
        short = name.removeprefix(_PREFIX)
        at = (*path, "name")
        if "/" in short:
            message = f"The plugin makes {_PREFIX}{short} of {name}, which is no resource's name."
            yield self._problem(rules.REFUSED, at, message, "Write nvidia.com/gpu.")
        elif short.endswith(".shared"):
            whole = short.removesuffix(".shared")
            message = f"No device is called {name}; the plugin adds .shared itself."
            fix = f"Write {_PREFIX}{whole}, and renameByDefault: true beside resources."
            yield self._problem(rules.REFUSED, at, message, fix)
        elif short.startswith("mig-"):
            if wrong := wrong_mig_name(f"{_PREFIX}{short}", kind, strategy):
                severity: Severity | None = "warning" if wrong.warning else None
                yield self._problem(wrong.rule, at, wrong.message, wrong.fix, severity=severity)
        elif short != "gpu":
            message = f"The plugin has no device {name}, so nothing is shared."
            fix = "Write nvidia.com/gpu, or nvidia.com/mig-PROFILE with migStrategy: mixed."
            meant = close_to(short, ("gpu", "gpus")) is not None
            edits = (Edit("set", at, f"{_PREFIX}gpu"),) if meant else ()
            yield self._problem(rules.IGNORED, at, message, fix, edits)

    def _replicas(self, kind: str, path: FieldPath, item: Mapping[str, Any]) -> Iterator[Judgement]:
        count = item.get("replicas")
        at = (*path, "replicas") if "replicas" in item else path
        if count is UNKNOWN or (count is None and _misspelt("replicas", item)):
            return
        if isinstance(count, str) and count.isascii() and count.isdecimal():
            message = f'replicas is the text "{count}", not a number.'
            edits = (Edit("set", at, int(count)),)
            yield self._problem(rules.REFUSED, at, message, "Write it without quotes.", edits)
        elif count is None:
            message = "It does not say replicas."
            yield self._problem(rules.REFUSED, at, message, "Write replicas, from 2 on.")
        elif isinstance(count, bool) or not isinstance(count, int) or count < 2:  # noqa: PLR2004
            message = f"replicas is {shown(count)}, and must be a whole number from 2 on."
            fix = "Write a number from 2 on; to share nothing, leave sharing out."
            yield self._problem(rules.REFUSED, at, message, fix)
        elif kind == "mps" and count > MPS_CLIENTS:
            message = f"replicas is {count}, and MPS has {MPS_CLIENTS} clients on a GPU at most."
            fix = f"Write {MPS_CLIENTS} or less; 16 on GPUs older than compute capability 7.5."
            yield self._problem(rules.NOT_WITH_MPS, at, message, fix)

    def _problem(
        self,
        rule: Any,
        path: FieldPath,
        message: str,
        fix: str,
        edits: tuple[Edit, ...] = (),
        *,
        severity: Severity | None = None,
    ) -> Problem:
        text = self.source.document.text
        if text and is_guide(self.source.document.file) and _NAMES_A_FILE.match(text.text):
            severity = "info"  # a guide shows a part of a file
        return Problem(rule, self.source, path, message, fix, severity, edits)


def _misspelt(key: str, item: Mapping[str, Any]) -> bool:
    """Whether a key is there by another name, which is told already."""
    return any(close_to(each, _ITEM_KEYS) == key for each in item if each not in _ITEM_KEYS)


def _is_sharing(value: Mapping[str, Any]) -> bool:
    return any(close_to(key, _SHARINGS) for key in value)


def _is_block(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("resources"), list)


def _known(key: str, keys: Sequence[str], *, exact: bool) -> str | None:
    """The key that Go's decoder takes it for: in any case, except where the plugin looks itself."""
    if key in keys:
        return key
    lower = key.lower()
    return None if exact else next((known for known in keys if known.lower() == lower), None)


def _field(value: Mapping[str, Any], name: str) -> _Given | None:
    """The value of a key in any case, as Go's decoder takes it."""
    if name in value or isinstance(value, PartlyKnown):
        return _Given(name, value.get(name))
    lower = name.lower()
    return next((_Given(key, item) for key, item in value.items() if key.lower() == lower), None)
