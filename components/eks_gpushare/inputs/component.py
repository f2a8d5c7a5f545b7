"""From a component's arguments to checked models; one error that names every wrong field."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Concatenate, Generic, NoReturn, ParamSpec, TypeVar

import pulumi
from pulumi.runtime.mocks import MockMonitor
from pulumi.runtime.settings import SETTINGS

from eks_gpushare.config.base import Model, fields_by_key, forget, normalised
from eks_gpushare.findings.finding import Finding, dotted, has_errors
from eks_gpushare.inputs.caller_words import handed_over, in_callers_words
from eks_gpushare.inputs.late_values import (
    dump,
    hidden,
    is_late,
    put_back,
    take_out,
    takes_outputs_inside,
)
from eks_gpushare.inputs.python_words import python_names
from eks_gpushare.rules.registry import until_unread
from eks_gpushare.validation import shape_rules
from eks_gpushare.validation.blocks import place_of
from eks_gpushare.validation.limits import oversized
from eks_gpushare.validation.partial import meant_fields, read_block
from eks_gpushare.validation.shape import (
    field_path,
    in_camel_case,
    is_in_camel_case,
    meant_key,
    missing_key,
    moved,
    shape_findings,
    wrong_type,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.validation.shape import Loc

M = TypeVar("M", bound=Model)
C = TypeVar("C", bound=pulumi.ComponentResource)
P = ParamSpec("P")

_PLAIN = "Give a plain value, such as one of pulumi.Config()."
_INSTEAD = {
    "admins": "Give it in named_admins, by a name of yours: the access entry in the state is named "
    "after the ARN here.",
    "public_cidrs": "Give plain ranges: who may reach the API server is checked beforehand.",
    "served": "Give the list itself, such as [pool.served].",
}
"""What to do with an output, by the field that takes none."""


class FromSpec(Generic[C, P]):
    """Makes components out of what is checked already, by the method that registers them."""

    def __init__(self, register: Callable[Concatenate[C, P], None]) -> None:
        """By what `__init__` calls once it has checked its arguments."""
        self._register = register

    def __get__(self, _instance: C | None, owner: type[C]) -> Callable[P, C]:
        """A function that makes one of the class."""

        def make(*args: P.args, **kwargs: P.kwargs) -> C:
            made = owner.__new__(owner)
            self._register(made, *args, **kwargs)
            return made

        return make


def given_args(args_type: type, args: Any) -> Mapping[str, Any]:
    """The arguments as a mapping, an empty one for None.

    Raises:
        pulumi.InputPropertiesError: If they are something else.
    """
    if args is None:
        return {}
    if not isinstance(args, Mapping):
        message = f"{type(args).__name__} is no mapping of arguments."
        fix = f"Give {args_type.__name__} as a dictionary, and resource options after it."
        refuse(_component(args_type), [shape_rules.WRONG_TYPE.finding((), message, fix)])
    return args


def validate_args(
    model: type[M],
    args_type: type,
    args: Mapping[str, Any],
    rules: Callable[[M], Iterable[Finding]],
    of_program: Callable[[M], Iterable[Finding]] = lambda _: (),
) -> tuple[M, list[Finding]]:
    """The plain part of a component's arguments as a model, and what is worth knowing about it.

    Arguments that the model does not have wire resources together and may be outputs. So may values
    of the model that decide nothing: it has them as they were given, to be handed on. Checks do not
    see them, but run again with each as soon as it is known.

    Args:
        model: What the plain part must be.
        args_type: The typed dictionary of the arguments, `<component>Args`.
        args: The arguments as they were given.
        rules: What must agree with what in such a model.
        of_program: What must agree with the rest of the program, which is looked at once.

    Raises:
        pulumi.InputPropertiesError: Naming every wrong field by path.
    """
    args, component = given_args(args_type, args), _component(args_type)
    before = handed_over()
    keys = args_type.__annotations__
    refs = {key: keys[key] for key in keys if key not in model.model_fields}
    given = {key: args[key] for key in args if key in keys and key not in refs}
    if too_large := oversized(given):
        refuse(component, too_large)
    taken, late, refused = take_out(given, model)
    plain = normalised(taken)
    found = [*before, *(_output(at, model) for at in refused)]
    components = list(_components(given))
    found += components
    unknown = {str(key): meant_key(str(key), keys) for key in args if key not in keys}
    places = {
        key: place
        for key, meant in unknown.items()
        if meant is None and (place := place_of(model, (key,), by_alias=False)) is not None
    }
    found += [_unknown_arg(key, meant, places.get(key)) for key, meant in unknown.items()]
    required: frozenset[str] = args_type.__required_keys__  # type: ignore[attr-defined]  # a TypedDict
    for ref in sorted(refs):
        if args.get(ref) is not None:
            found += _of_ref(ref, args[ref], refs[ref], required=ref in required)
        elif ref in required - {*unknown.values()}:
            found.append(missing_key((ref,)))
    spec, details, misspelt = read_block(model, plain, by_alias=False)
    explained = {*refused, *((meant,) for meant in unknown.values())}
    explained |= {finding.at for finding in components}
    explained |= {(*field_path(place), key) for key, place in places.items()}
    shape = shape_findings(details, {*python_names().values(), *refs}, unknown=misspelt)
    found += [f for f in shape if not any(f.at[: len(at)] == at for at in explained)]
    forget(spec, *meant_fields(unknown, fields_by_key(model, by_alias=False), given))
    known = hidden(put_back(spec, late))
    ruled = [*until_unread(rules, known), *until_unread(of_program, known)]
    found += [f for f in ruled if f.severity == "error"] if found else ruled
    if has_errors(found):
        refuse(component, found)

    def checked(at: FieldPath, value: object) -> object:
        if not isinstance(SETTINGS.monitor, MockMonitor):  # whose values are made up
            others = {place: output for place, output in late.items() if place != at}
            again = read_block(model, put_back(plain, {at: normalised(value)}), by_alias=False)
            wrong = shape_findings(again.details, (), unknown=again.unknown)
            wrong += until_unread(rules, hidden(put_back(again.block, others)))
            if has_errors(wrong):
                refuse(component, wrong)
        return value

    later = {at: output.apply(partial(checked, at)) for at, output in late.items()}
    return put_back(spec, later), [in_callers_words(finding) for finding in found]


def _component(args_type: type) -> str:
    return args_type.__name__.removesuffix("Args")


def _of_ref(key: str, value: object, annotation: object, *, required: bool) -> Iterator[Finding]:
    """What is wrong with what wires resources together, as far as it is plain."""
    if is_late(value):
        return
    if "Sequence" not in str(annotation):
        yield from _of_text((key,), value)
    elif not isinstance(value, list | tuple):
        yield wrong_type((key,), value, "a list")
    elif required and not value:
        yield shape_rules.WRONG_TYPE.finding((key,), "The list is empty.", "Name at least one.")
    else:
        for index, item in enumerate(value):
            yield from _of_text((key, index), item)


def _of_text(at: FieldPath, value: object) -> Iterator[Finding]:
    if not is_late(value) and not isinstance(value, str):
        yield wrong_type(at, value, "text")


def _output(at: FieldPath, model: type[Model]) -> Finding:
    names = [part for part in at if isinstance(part, str)]
    message = "An output is known too late: this value decides what is made, and how."
    fix = next((_INSTEAD[name] for name in names if name in _INSTEAD), _PLAIN)
    if takes_outputs_inside(model, at):
        message = "An output is known too late: the keys of this mapping have to be known."
        fix = "Give the mapping itself; its values may be outputs."
    return shape_rules.WRONG_TYPE.finding(at, message, fix)


def _components(given: Mapping[str, object]) -> Iterator[Finding]:
    """What is said of components in the place of what they hand over."""
    for key, value in given.items():
        several = isinstance(value, list | tuple)
        for index, resource in enumerate(value if isinstance(value, list | tuple) else [value]):
            if isinstance(resource, pulumi.Resource) and hasattr(resource, key):
                at: FieldPath = (key, index) if several else (key,)
                message = f"{type(resource).__name__} is a component; its output {key} is meant."
                fix = f"Write pool.{key}" + ("." if several else f", in a list: [pool.{key}].")
                yield shape_rules.WRONG_TYPE.finding(at, message, fix)


def _unknown_arg(key: str, meant: str | None, place: Loc | None) -> Finding:
    if meant and is_in_camel_case(key, meant):
        return in_camel_case((key,), meant)
    fix = f"Did you mean {meant}?" if meant else "Remove it."
    if place is not None:
        fix = moved(key, (key,), field_path(place))
    return shape_rules.UNKNOWN_KEY.finding((key,), f"{key} is not an argument.", fix)


def refuse(component: str, findings: Iterable[Finding]) -> NoReturn:
    """Raise one error that names every wrong field.

    Raises:
        pulumi.InputPropertiesError: Always.
    """
    wrong = [in_callers_words(f) for f in findings if f.severity == "error"]
    places = [dotted(f.at) for f in wrong]
    lines = [
        f"  {place or 'args'}: {f.message} {f.fix} [{f.code}]"
        for place, f in zip(places, wrong, strict=True)
    ]
    count = "1 argument is" if len(wrong) == 1 else f"{len(wrong)} arguments are"
    raise pulumi.InputPropertiesError(
        "\n".join([f"{component}: {count} wrong:", *lines]),
        [
            {"property_path": place, "reason": f"{f.message} {f.fix}"}
            for place, f in zip(places, wrong, strict=True)
        ],
    )


def warn(found: Iterable[Finding], resource: pulumi.Resource) -> None:
    """Put warnings into the engine's log, on the component they are about."""
    for finding in found:
        if finding.severity == "warning":  # which the engine says itself
            pulumi.log.warn(str(finding).removeprefix("warning "), resource=resource)


_ALWAYS = ("ebsCsi", "versions")
"""Keys of add-ons that stand in every state, whatever they are."""


def props(
    model: Model,
    *without: str,
    only: set[str] | None = None,
    **wiring: Any,
) -> dict[str, Any]:
    """A component's inputs as they stand in the state: camelCase, as raw resources have them.

    What is not set is left out, so that a new optional key changes no component that lacks it.

    Args:
        model: The plain arguments.
        without: Fields that would show the component as changed for no reason.
        only: Fields to keep. Default: all but `without`.
        wiring: Arguments beside the model, under the names of raw resources.
    """
    plain = dump(model, by_alias=True, exclude_none=True, include=only or (), exclude=without)
    if "catalog" in plain:
        plain["catalog"] = {key: value for key, value in plain["catalog"].items() if value}
    for block in (plain, plain.get("cluster")):
        if block and "addons" in block:
            said = block["addons"].items()
            block["addons"] = {key: value for key, value in said if value or key in _ALWAYS}
    for key in ("tags", "catalog"):
        if not plain.get(key):
            plain.pop(key, None)
    return {**plain, **{key: value for key, value in wiring.items() if value is not None}}
