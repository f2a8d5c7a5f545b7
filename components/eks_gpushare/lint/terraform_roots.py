"""Root modules of Terraform among the files: what each makes, and which files are its."""

from __future__ import annotations

import os
import posixpath
import re
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.documents.reading import is_guide
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.hcl.registry_user_data import IMAGES, POLICY_DOCUMENT
from eks_gpushare.lint.readers.markdown import TERRAFORM, blocks
from eks_gpushare.lint.readers.terraform import TerraformResource, read_resources
from eks_gpushare.lint.terraform_configuration import TerraformConfiguration
from eks_gpushare.lint.terraform_variables import VARIABLES, is_automatic, root_variables
from eks_gpushare.manifests.files import UNIT, read_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from eks_gpushare.lint.hcl.blocks import MadeResource
    from eks_gpushare.lint.hcl.folders import ModuleFiles
    from eks_gpushare.lint.hcl.syntax import Fault, ParsedHcl
    from eks_gpushare.lint.terraform_variables import RootVariables
    from eks_gpushare.manifests.document import Read
    from eks_gpushare.manifests.files import GivenFile

ENDINGS: Final = (".tf", ".tofu", ".tf.json", ".tofu.json")
_BLOCK: Final = re.compile(r"^[ \t>]*(?:`{3,}|~{3,})[ \t]*(?:hcl|terraform|tf)\b", re.MULTILINE)
_ELIDED: Final = re.compile(r"(?:#|//).*(?:\.\.\.|\u2026)")
"""A comment in place of what a block of a guide leaves out."""
_MOST_BELOW: Final = 2_000
_OF_TOOLS: Final = frozenset((".git", ".terraform"))
"""Folders of many files that no pattern means."""
_MOST_FILES: Final = 500
"""Most files of a module."""
_TEXTS: Final = frozenset(
    ("values", "yaml_body", "user_data", "user_data_base64", "tag", "provisioner")
)
"""Arguments whose unknown parts are left as such: read as YAML or as scripts, or by the beginning,
as the name of the tag that has that of a cluster. So are those of names that images have."""


class Root(NamedTuple):
    """A folder that Terraform runs in."""

    name: str
    """Its folder."""
    read: Read
    """What it makes."""
    files: frozenset[str]
    """Its files, those of the modules that it calls, and those that it reads."""
    variables: str = ""
    """The file of variables that it is told with; empty of what holds with any."""


@dataclass(slots=True)
class TerraformRoots:
    """What Terraform's files among those of a call say."""

    roots: list[Root] = field(default_factory=list)
    given: list[Root] = field(default_factory=list)
    """The same with each of several files of variables that do not agree."""
    parsed: dict[str, tuple[Fault, ...]] = field(default_factory=dict)
    """Files of Terraform by their normal paths, each with what cannot be read in it."""
    taken: set[str] = field(default_factory=set)
    """Files of YAML that a root module reads, so that they are judged with it."""

    broken: list[tuple[str, Exception]] = field(default_factory=list)
    """Root modules whose evaluation failed, each by a file of it: a defect."""
    further: list[GivenFile] = field(default_factory=list)
    """Files that they take in and that the call did not give."""
    without_parser: str = ""
    """A file that is not read, as none is, since the parser is not installed; empty where it is."""

    @property
    def contents(self) -> dict[str, frozenset[str]]:
        """The files of each root module, by its name."""
        return {root.name: root.files for root in self.roots}


_MODULES: Final = "modules"
_CALLS: Final = re.compile(rf"^[ \t]*source[ \t]*=[ \t]*\"\./{_MODULES}/([^/\"\n]+)", re.MULTILINE)


def is_terraform(name: str) -> bool:
    """Whether a file is of Terraform or OpenTofu, variables among them."""
    return name.lower().endswith((*ENDINGS, *VARIABLES)) or posixpath.basename(name) == UNIT


def _listed(folder: str) -> list[str]:
    try:
        with os.scandir(folder or ".") as entries:
            names = sorted(each.name for each in entries if each.is_file())
    except OSError:
        return []
    return [posixpath.join(folder, name) for name in names]


def terraform_roots(files: Sequence[GivenFile]) -> TerraformRoots:
    """Evaluate the root modules among some files.

    Args:
        files: The files of the call.
    """
    given = {posixpath.normpath(file.name): file.text for file in files if not file.problem}
    units = [name for name in given if posixpath.basename(name) == UNIT]
    own = [name for name in given if name.lower().endswith(ENDINGS)] + units
    made = TerraformRoots()
    if not own:
        return made
    if find_spec("tree_sitter_hcl") is None:
        made.without_parser = min(own)
        return made
    reading = _Reading(given, made)
    folders = sorted({posixpath.dirname(name) for name in own})
    modules = {folder: found for folder in folders if (found := reading.module(folder))}
    modules = reading.units(units, modules) | modules
    called = {each for module in modules.values() for each in _called(module)}
    for folder, module in modules.items():
        if folder not in called and not reading.is_unused(folder):
            try:
                for root in reading.roots(folder, module):
                    (made.given if root.variables else made.roots).append(root)
            except Exception as error:  # noqa: BLE001  (other files are read all the same)
                made.broken.append((module.files[0], error))
    further = {*made.parsed, *made.taken} - given.keys()
    made.further = [read_file(name) for name in sorted(further)]
    return made


def _called(module: ModuleFiles) -> Iterator[str]:
    from eks_gpushare.lint.hcl.blocks import NOTHING
    from eks_gpushare.lint.hcl.evaluating import value_of

    for call in module.calls.values():
        source = call.body.attributes.get("source")
        named = None if source is None else value_of(source, NOTHING)
        if isinstance(named, str) and named.startswith("."):
            found = posixpath.normpath(posixpath.join(module.folder, named))
            if found != module.folder:
                yield "" if found == "." else found


class _Reading:
    """The work on one call's files."""

    def __init__(self, given: Mapping[str, str], made: TerraformRoots) -> None:
        self._given, self._made = given, made
        self._in_folder: dict[str, list[str]] = {}
        for name in given:
            self._in_folder.setdefault(posixpath.dirname(name), []).append(name)
        self._modules: dict[str, ModuleFiles | None] = {}
        self._parsed: dict[str, ParsedHcl] = {}
        self._texts: dict[str, str | None] = {}

    def module(self, folder: str) -> ModuleFiles | None:
        """What the files of a folder say; None of a folder without any."""
        folder = "" if folder == "." else folder
        if folder not in self._modules:
            self._modules[folder] = self._module(folder)
        return self._modules[folder]

    def _module(self, folder: str) -> ModuleFiles | None:
        from eks_gpushare.lint.hcl.folders import ModuleFiles, is_override

        # All files of its folder are a module, whichever of them the call gave.
        own = self._in_folder.get(folder, [])
        names = {name for name in (*own, *_listed(folder)) if name.lower().endswith(ENDINGS)}
        if not names or len(names) > _MOST_FILES:
            return None
        # OpenTofu passes over a file of Terraform that has a twin of its own.
        twins = {name.replace(".tofu", ".tf") for name in names if ".tofu" in name}
        module = ModuleFiles(folder)
        for name in sorted(names, key=lambda name: (is_override(name), name)):
            if name in twins:
                self._made.parsed.setdefault(name, ())
                continue
            module.add(name, self._file(name).body)
        return module

    def _file(self, name: str) -> ParsedHcl:
        from eks_gpushare.lint.hcl.syntax import Body, ParsedHcl, parse

        if name not in self._parsed:
            text = self.read(name)
            parsed = ParsedHcl(Body()) if text is None else parse(name, text)
            self._parsed[name] = parsed
            self._made.parsed[name] = parsed.faults
        return self._parsed[name]

    def is_unused(self, folder: str) -> bool:
        """Whether the root above a folder of modules calls others of them, and not this one."""
        above, name = posixpath.split(folder)
        owner = posixpath.dirname(above)
        if posixpath.basename(above) != _MODULES:
            return False
        files = {*self._in_folder.get(owner, []), *_listed(owner)}
        texts = (self.read(each) for each in files if each.lower().endswith(ENDINGS))
        called = {each for text in texts if text for each in _CALLS.findall(text)}
        return bool(called) and name not in called

    def read(self, path: str) -> str | None:
        """The text of a file, of those that are given or as it lies there."""
        if path in self._given:
            return self._given[path]
        if path not in self._texts:
            # Of no pipe, and of no name that is none.
            found = read_file(path) if os.path.isfile(path) else None  # noqa: PTH113
            self._texts[path] = None if found is None or found.problem else found.text
        return self._texts[path]

    def units(
        self, names: Iterable[str], modules: Mapping[str, ModuleFiles]
    ) -> dict[str, ModuleFiles]:
        """Units of Terragrunt, each by its folder."""
        from eks_gpushare.lint.hcl.terragrunt import unit

        found = (unit(name, self._file(name).body, modules, self.read) for name in names)
        return {each.folder: each for each in found if each is not None}

    def below(self, folder: str) -> list[str] | None:
        """Paths of the files below a folder, from there."""
        above = posixpath.join(folder, "") if folder != "." else ""
        known = {name.removeprefix(above) for name in self._given if name.startswith(above)}
        for top, inner, files in os.walk(folder):
            inner[:] = sorted(set(inner) - _OF_TOOLS)
            known |= {posixpath.relpath(posixpath.join(top, file), folder) for file in files}
            if len(known) > _MOST_BELOW:
                return None
        return sorted(known)

    def roots(self, folder: str, module: ModuleFiles) -> Iterator[Root]:
        """What a root module makes, and what it makes with each file of variables."""
        variables = self._variables(folder, module)
        made, used = self._made_with(folder, module, variables.values())
        name = folder or "."
        taken = used & _written_in(made)
        self._made.taken |= taken
        files = frozenset((*self._files(module, set()), *taken))
        yield Root(name, _read(made, name), files)
        for file, values in variables.by_file():
            made, _ = self._made_with(folder, module, values)
            yield Root(name, _read(made, name), files, file)

    def _made_with(
        self, folder: str, module: ModuleFiles, values: dict[str, Any]
    ) -> tuple[list[MadeResource], set[str]]:
        """Resources with some values of variables, and the files that were read."""
        from eks_gpushare.lint.hcl.folders import Folders
        from eks_gpushare.lint.hcl.modules import Instance

        folders = Folders(self.module, self.read, self.below)
        made = Instance(module, folders, folder, values).made()
        return [_by_itself(each) for each in _expanded(made)], folders.used

    def _variables(self, folder: str, module: ModuleFiles) -> RootVariables:
        """Values that files of variables in the folder, or below it, give."""
        above = posixpath.join(folder, "") if folder else ""
        given = self._in_folder.get(folder, [])
        own = [name for name in given if not is_automatic(name)]
        below = (each for each in self._in_folder if each.startswith(above) and each != folder)
        # Below the folder Terraform takes none by itself, whatever it is called.
        own += [f for each in below if self.module(each) is None for f in self._in_folder[each]]
        named = sorted((f for f in own if f.endswith(VARIABLES)), key=posixpath.split)
        names = sorted({*given, *_listed(folder)})
        return root_variables(module, names, named, self._variable_file, self._given)

    def _variable_file(self, name: str) -> dict[str, Any]:
        from eks_gpushare.lint.hcl.blocks import NOTHING
        from eks_gpushare.lint.hcl.evaluating import value_of
        from eks_gpushare.lint.hcl.syntax import parse_variables

        text = self.read(name)
        if text is None:
            return {}
        parsed = parse_variables(name, text)
        self._made.parsed[name] = parsed.faults
        return {key: value_of(each, NOTHING) for key, each in parsed.body.attributes.items()}

    def _files(self, module: ModuleFiles, seen: set[str]) -> Iterator[str]:
        if module.folder in seen:
            return
        seen.add(module.folder)
        yield from module.files
        for folder in _called(module):
            inner = self.module(folder)
            if inner is not None:
                yield from self._files(inner, seen)


def blocks_of_guide(file: GivenFile) -> Iterator[Root]:
    """What blocks of Terraform in a guide make, each by itself; nothing of one that is not whole.

    Of what such a block leaves out nothing is said.
    """
    if not is_guide(file.name) or find_spec("tree_sitter_hcl") is None:
        return
    from eks_gpushare.lint.hcl.folders import Folders, ModuleFiles
    from eks_gpushare.lint.hcl.modules import Instance
    from eks_gpushare.lint.hcl.syntax import parse

    for block in blocks(file.text) if _BLOCK.search(file.text) else ():
        parsed = parse(file.name, "\n" * (block.line - 1) + block.text)
        if block.kind != TERRAFORM or parsed.faults or _ELIDED.search(block.text):
            continue
        module = ModuleFiles("")
        module.add(file.name, parsed.body)
        nowhere = Folders(lambda _: None, lambda _: None, lambda _: None)
        made = list(_expanded(Instance(module, nowhere, "", {}).made()))
        yield Root("", _read(made, "")._replace(judgements=()), frozenset())


def _read(made: Sequence[MadeResource], build: str) -> Read:
    expressions = {each.address: each.references for each in made}
    configuration = TerraformConfiguration.of_expressions(expressions)
    return read_resources([_resource(each, build) for each in made], configuration)


def _by_itself(made: MadeResource) -> MadeResource:
    """A resource by its address in the module of a unit, which Terragrunt runs by itself."""
    from eks_gpushare.lint.hcl.terragrunt import CALL

    return replace(made, address=made.address.removeprefix(f"module.{CALL}."))


def _expanded(made: Iterable[MadeResource]) -> Iterator[MadeResource]:
    from eks_gpushare.lint.hcl.registry_modules import made_by

    for each in made:
        if each.kind == "module":
            yield from made_by(each)
        else:
            yield each


def _resource(made: MadeResource, build: str) -> TerraformResource:
    from eks_gpushare.lint.hcl.origin import hcl_document
    from eks_gpushare.lint.hcl.values import settled

    values = type(made.values)()
    for key, each in made.values.items():
        given = _as_blocks(each, key) if made.kind.startswith("aws_") else each
        has_texts = key in _TEXTS or made.kind in (*IMAGES, POLICY_DOCUMENT)
        values.put(key, settled(given, texts=has_texts), made.values.places.get(key))
    document = hcl_document(made.address, values, made.place, build)
    document = replace(document, is_optional=made.present is UNKNOWN)
    is_there = made.present is not False
    return TerraformResource(document, (), made.kind, made.address, document.value, is_there)


_BLOCKS: Final = frozenset(
    (
        *("scaling_config", "taint", "launch_template", "mixed_instances_policy", "override"),
        *("launch_template_specification", "tag", "metadata_options", "network_interfaces"),
        *("block_device_mappings", "ebs", "vpc_config", "encryption_config", "provider"),
        *("instance_market_options", "capacity_reservation_specification"),
        "capacity_reservation_target",
    )
)
"""Blocks that JSON may have without a list where there is one."""


def _as_blocks(value: Any, key: str) -> Any:
    from eks_gpushare.lint.hcl.values import HclList, HclObject

    if isinstance(value, HclObject):
        made = type(value)({each: _as_blocks(of, each) for each, of in value.items()})
        made.places = value.places
        return HclList([made]) if key in _BLOCKS else made
    if isinstance(value, HclList):
        return HclList((_as_blocks(each, "") for each in value), value.places)
    return value


def _written_in(made: Iterable[MadeResource]) -> frozenset[str]:
    """Files that values of resources are written in, of those that are there."""
    from eks_gpushare.lint.hcl.values import files_in

    there = (each for each in made if each.kind in _OF_CLUSTERS and each.present is not False)
    return frozenset[str]().union(*(files_in(each.values) for each in there))


_OF_CLUSTERS: Final = frozenset(("helm_release", "kubectl_manifest", "kubernetes_manifest"))
"""Resources that say all that is of interest in a file of YAML which they are made of."""
