"""Ask registries and public tables whether there is something newer than what is pinned.

    python tools/catalog/newer.py --write --report newer.md

Prints a line for each pin that is behind, and one for each that nobody answered for. With `--write`
`catalog/versions.py` has the newer ones, and today as the day of reading of all that were asked:
what else a new version takes is in CONTRIBUTING.md. The workflow `newer` runs it each week. AWS is
asked where there are credentials of any account; they need ssm:GetParameter and
eks:DescribeAddonVersions.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import packages
from registries import AskedError, Aws, Registries, newest

from eks_gpushare.catalog import gpu_instance_types, versions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

T = TypeVar("T")
FILE = Path(versions.__file__)
_REGION = "us-east-1"


@dataclass(frozen=True)
class Asked:
    """A pin, and who knows a newer one."""

    name: str
    pinned: str
    ask: Callable[[], str]
    day: str = ""
    """The line of `versions.py` that its date stands on: of a constant, or of the pin itself."""


@dataclass
class Found:
    """What was answered."""

    newer: list[tuple[Asked, str]] = field(default_factory=list)
    same: list[Asked] = field(default_factory=list)
    unanswered: list[tuple[Asked, str]] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """What there is to do."""
        for each, value in self.newer:
            yield f"{each.name}: {each.pinned} -> {value}"
        for each, why in self.unanswered:
            yield f"{each.name}: {each.pinned}, and nobody answered: {why}"


def questions(registries: Registries, aws: Aws | None) -> Iterator[Asked]:
    """Every pin that somebody can be asked for."""
    for chart in versions.CHARTS:
        yield Asked(
            f"chart {chart.name}",
            chart.version,
            partial(_chart, registries, chart),
        )
    for kubernetes in versions.KUBERNETES_VERSIONS:
        tag = str(versions.cluster_autoscaler_tag(kubernetes))
        yield Asked(
            f"image cluster-autoscaler for {kubernetes}",
            tag.removeprefix("v"),
            partial(_autoscaler, registries, kubernetes),
            "CLUSTER_AUTOSCALERS_READ",
        )
    for image in versions.IMAGES:
        yield Asked(f"image {image.repository}", image.tag, partial(_tag, registries, image))
    yield Asked(
        "prices and Karpenter's tables, tools/catalog/packages.py",
        packages.KARPENTER[1],
        lambda: registries.newest_go_module(packages.KARPENTER[0]),
    )
    yield Asked("moto, requirements.txt", packages.MOTO, lambda: registries.newest_package("moto"))
    # One file of hundreds of megabytes, read once for all types, whether it comes or not.
    prices = cache(lambda: _tried(lambda: registries.prices(_REGION, gpu_instance_types())))
    for name, kind in gpu_instance_types().items():
        pinned = str(kind.price(_REGION))
        yield Asked(f"price of {name}", pinned, partial(_price, prices, name))
    if aws is not None:
        yield from _of_aws(aws)


def _of_aws(aws: Aws) -> Iterator[Asked]:
    for kubernetes in versions.KUBERNETES_VERSIONS:
        yield Asked(
            f"machine image AL2023 for {kubernetes}",
            str(versions.ami_release("al2023", kubernetes)),
            partial(aws.al2023, kubernetes),
            "AMIS_READ",
        )
        for addon in versions.addon_versions(kubernetes).values():
            yield Asked(
                f"add-on {addon.name} for {kubernetes}",
                addon.version,
                partial(aws.addon, addon.name, kubernetes),
            )
    newest_kubernetes = versions.KUBERNETES_VERSIONS[-1]
    yield Asked(
        "machine image Bottlerocket",
        versions.BOTTLEROCKET_RELEASE,
        partial(aws.bottlerocket, newest_kubernetes),
        "BOTTLEROCKET_READ",
    )


def _tried(ask_: Callable[[], T]) -> Callable[[], T]:
    """What gives an answer that was asked for once, or raises as it did then."""
    try:
        answer = ask_()
    except Exception as error:  # noqa: BLE001  (raised for each that asks)
        failure = error

        def fail() -> T:
            raise failure

        return fail
    return lambda: answer


def _chart(registries: Registries, chart: versions.HelmChart) -> str:
    return _spelt(registries.newest_of_chart(chart.name, chart.repository), chart.version)


def _autoscaler(registries: Registries, kubernetes: str) -> str:
    tags = registries.tags(versions.CLUSTER_AUTOSCALER_IMAGE)
    return newest(each for each in tags if each.startswith(f"v{kubernetes}.")).removeprefix("v")


def _price(prices: Callable[[], Callable[[], dict[str, float]]], name: str) -> str:
    return str(prices()().get(name))


def _spelt(found: str, pinned: str) -> str:
    """A version with or without a `v`, as the pin has it: repositories take both."""
    bare = found.removeprefix("v")
    return f"v{bare}" if pinned.startswith("v") else bare


def _tag(registries: Registries, image: versions.Image) -> str:
    """The newest tag of the same series: `3.13.17-slim` for `3.13.16-slim`."""
    number, _, suffix = image.tag.partition("-")
    minor = number.rpartition(".")[0]
    wanted = re.compile(
        rf"{re.escape(minor)}\.[0-9]+" + (f"-{re.escape(suffix)}" if suffix else "")
    )
    tags = [each for each in registries.tags(image.repository) if wanted.fullmatch(each)]
    if not tags:
        raise AskedError(f"{image.repository} has no tag of the series {minor}")
    return max(tags, key=lambda each: int(each.partition("-")[0].rpartition(".")[2]))


def ask(asked: Sequence[Asked]) -> Found:
    """Ask for every pin; who does not answer stops nobody else."""
    found = Found()
    for each in asked:
        try:
            value = each.ask()
        except Exception as error:  # noqa: BLE001  (of a registry, of AWS, of what they answer)
            found.unanswered.append((each, str(error).partition("\n")[0] or type(error).__name__))
            continue
        if value == each.pinned:
            found.same.append(each)
        else:
            found.newer.append((each, value))
    return found


def written(source: str, found: Found, registries: Registries, today: date) -> str:
    """`versions.py` with what is newer, and the day for all that was answered."""
    day = f"date({today.year}, {today.month}, {today.day})"
    for each, value in found.newer:
        source = _replaced(source, each, value, found.newer, registries)
    for each in (*found.same, *(newer for newer, _ in found.newer)):
        if each.day:
            source = re.sub(
                rf"^({each.day} = )date\(.*\)$", rf"\g<1>{day}", source, flags=re.MULTILINE
            )
        elif each.name.startswith(("chart ", "image ")):
            block = _block(source, each.name.partition(" ")[2])
            source = source.replace(block, re.sub(r"read=date\([^)]*\)", f"read={day}", block))
    return source


def _replaced(
    source: str,
    each: Asked,
    value: str,
    found: Sequence[tuple[Asked, str]],
    registries: Registries,
) -> str:
    kind, _, name = each.name.partition(" ")
    if kind == "chart" or (kind == "image" and " for " not in name):
        block = _block(source, name)
        changed = block.replace(f'"{each.pinned}"', f'"{value}"')
        if kind == "image":
            digest = registries.digest(name, value)
            changed = re.sub(r'digest="[^"]*"', f'digest="{digest}"', changed)
        return source.replace(block, changed)
    if kind in ("image", "machine", "add-on"):
        version = name.rpartition(" for ")[2]
        own = re.search(
            rf'^    "{re.escape(version)}": .*"{re.escape(each.pinned)}".*$', source, re.MULTILINE
        )
        if own is None and len({new for other, new in found if other.pinned == each.pinned}) > 1:
            return source  # one pin for every version of Kubernetes, for which EKS has several
        place = own[0] if own else f'"{each.pinned}"'
        return source.replace(place, place.replace(f'"{each.pinned}"', f'"{value}"'))
    return source  # a table, which a generator makes


def _block(source: str, name: str) -> str:
    """The lines of the chart or image of this name or repository."""
    for found in re.finditer(
        r"^[A-Z_]+ = (?:HelmChart|Image)\(\n(?:    .*\n)+\)$", source, re.MULTILINE
    ):
        if re.search(rf'^    (?:name|repository)="{re.escape(name)}",$', found[0], re.MULTILINE):
            return found[0]
    raise LookupError(f"{FILE} has no {name}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask, and print what is newer; 1 if nobody answered at all."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write newer ones into versions.py")
    parser.add_argument("--report", type=Path, help="file for what was found, as Markdown")
    parser.add_argument("--aws", action="store_true", help="ask AWS too, with your credentials")
    parser.add_argument("--through", default="", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    registries = Registries(options.through)
    aws = Aws(options.through or None) if options.aws else None
    found = ask(list(questions(registries, aws)))
    lines = list(found.lines())
    print("\n".join(lines) or "nothing is newer")
    if options.report:
        text = "".join(f"* {line}\n" for line in lines)
        options.report.write_text(text, encoding="utf-8")
    if options.write:
        today = datetime.now(tz=UTC).date()
        source = FILE.read_text(encoding="utf-8")
        FILE.write_text(written(source, found, registries, today), encoding="utf-8")
    return 0 if found.same or found.newer else 1


if __name__ == "__main__":
    sys.exit(main())
