"""What `eks-gpushare mig` is asked about: a type of node or GPU, and layouts for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog import Catalog, mig_models, named_layouts, why_no_mig
from eks_gpushare.catalog.mig import ALL_DISABLED
from eks_gpushare.sharing.mig.geometry import large_first, nearest, place, unused, why_not
from eks_gpushare.sharing.mig.layout import LayoutError, layout_named, meant_layout
from eks_gpushare.sharing.resources import GPU, mig_resource
from eks_gpushare.validation.shape import similar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eks_gpushare.catalog import InstanceType, MigModel
    from eks_gpushare.sharing.mig.geometry import Placement


class UsageError(Exception):
    """Words on the command line that mean nothing."""


@dataclass(frozen=True, slots=True)
class Target:
    """An instance type, or a GPU model without a node around it."""

    name: str
    """As it was given."""
    instance: InstanceType | None
    """The instance type, if it is one."""
    model: MigModel | None
    """The GPU as MIG sees it; None if it has no MIG."""
    why_not: str | None
    """Why MIG cannot be used there, None if it can."""

    @property
    def gpus(self) -> int:
        """GPUs of a node; 1 for a GPU model."""
        return self.instance.gpu_count if self.instance else 1

    def heading(self) -> str:
        """One line about it."""
        if self.model is None:
            return self.name
        what = f"{self.name}: {self.gpus} x {self.model.name}" if self.instance else self.name
        slices = f"{self.model.compute_slices} compute and {self.model.memory_slices} memory slices"
        return f"{what}, {slices}{' each' if self.gpus > 1 else ''}"

    def footnote(self) -> str:
        """How sure the figures are and where they come from."""
        if self.model is None:
            return ""
        sure = " ".join([f"This geometry is {self.model.confidence}.", *self.model.notes])
        return f"{sure} Sources: {self.model.source}."

    def as_json(self) -> dict[str, Any]:
        """What both lists begin with."""
        model = self.model
        return {
            "type": self.name,
            "gpus": self.gpus,
            "model": model and model.name,
            "computeSlices": model and model.compute_slices,
            "memorySlices": model and model.memory_slices,
            "confidence": model and model.confidence,
            "notes": list(model.notes) if model else [],
            "source": model and model.source,
        }


@dataclass(frozen=True, slots=True)
class Checked:
    """What came out for one layout."""

    layout: str
    """As it was given."""
    fits: bool
    """Whether a GPU can have it."""
    why: str
    """Why not; empty if it fits."""
    nearest: Sequence[Mapping[str, int]]
    """Layouts that fit and differ least, if it does not."""
    advertised: Mapping[str, int]
    """Resources of a whole node with strategy mixed; of one GPU, where only that is known."""
    placements: tuple[Placement, ...] = ()
    """Where the instances lie."""
    notes: tuple[str, ...] = ()
    """What it leaves unused."""

    def as_json(self) -> dict[str, Any]:
        """The layout as `--json` shows it."""
        return {
            "layout": self.layout,
            "fits": self.fits,
            "why": None if self.fits else self.why,
            "nearest": [dict(counts) for counts in self.nearest],
            "advertised": dict(self.advertised),
        }


def target(name: str) -> Target:
    """What the name stands for.

    Raises:
        UsageError: Nothing has that name.
    """
    catalog = Catalog()
    models = {model.casefold(): model for model in mig_models()}
    if name.casefold() in models:
        return Target(name, None, mig_models()[models[name.casefold()]], None)
    found = catalog.find(name)
    if found is None:
        meant = similar(name, [*catalog.gpu_types(), *mig_models()])
        guess = f" Did you mean {meant}?" if meant else ""
        listed = ", ".join(mig_models())
        message = f"{name} is neither an EC2 instance type nor a GPU model.{guess}"
        raise UsageError(f"{message}\nModels: {listed}")
    why = why_no_mig(found)
    model = catalog.mig_model(found.gpu) if found.gpu and why is None else None
    if model is None and why is None:
        why = f"The MIG profiles of the GPU of {name} are not known."
    return Target(name, found, model, why)


def check_layout(target: Target, text: str) -> Checked:
    """Whether the target can have a layout.

    Args:
        target: The node or GPU.
        text: Name of a layout, or devices per GPU such as `1g.5gb=2,2g.10gb=1`.

    Raises:
        UsageError: The text is neither.
    """
    given = devices_of(text)
    model = target.model
    if model is None:
        return _refused(text, target.why_not or "")
    if text == ALL_DISABLED:
        whole = {GPU: target.gpus}
        note = "every GPU stays whole"
        return Checked(text, fits=True, why="", nearest=(), advertised=whole, notes=(note,))
    devices: Mapping[str, int]
    layouts = named_layouts(model)
    try:
        devices = layout_named(text, model, layouts) if given is None else given
    except LayoutError as error:
        meant = meant_layout(text, model, layouts)
        return _refused(text, str(error), [layouts[meant]] if meant else ())
    if place(model, devices) is None:
        return _refused(text, why_not(model, devices), nearest(model, devices))
    return _fitting(target, model, text, devices)


def _refused(text: str, why: str, instead: Sequence[Mapping[str, int]] = ()) -> Checked:
    return Checked(text, fits=False, why=why, nearest=instead, advertised={})


def _fitting(target: Target, model: MigModel, text: str, devices: Mapping[str, int]) -> Checked:
    ordered = large_first(model, devices)
    resources = {mig_resource(name): n * target.gpus for name, n in ordered.items()}
    left = unused(model, devices)
    memory = f" ({left.memory_gb} GB)" if left.memory_slices else ""
    compute = f"{left.compute_slices} of {model.compute_slices} compute slices"
    notes = [
        f"unused: {compute}, {left.memory_slices} of {model.memory_slices} memory slices{memory}"
    ]
    if left.addable:
        notes.append(f"room for one more of {', '.join(left.addable)}")
    return Checked(
        layout=text,
        fits=True,
        why="",
        nearest=(),
        advertised={GPU: 0, **resources},
        placements=place(model, devices) or (),
        notes=tuple(notes),
    )


def devices_of(text: str) -> dict[str, int] | None:
    """Devices per GPU; None if the text is a name.

    Raises:
        UsageError: If it is neither a name nor `PROFILE=COUNT,...`.
    """
    if "=" not in text:
        return None
    devices: dict[str, int] = {}
    for part in text.split(","):
        name, _, count = part.strip().partition("=")
        number = count.strip()
        if not name or not (number.isascii() and number.isdigit()) or int(number) < 1:
            message = f"{part.strip()!r} in {text!r} is not PROFILE=COUNT, such as 1g.5gb=2"
            raise UsageError(f"{message}, with a count of 1 or more.")
        if name in devices:
            raise UsageError(f"{name} stands twice in {text!r}.")
        devices[name] = int(number)
    return devices
