"""Programs in other languages on our pages are the examples, compiled and run elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "languages"
PAGES = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
SUFFIXES = {
    "typescript": ".ts",
    "javascript": ".js",
    "go": ".go",
    "csharp": ".cs",
    "java": ".java",
    "xml": ".xml",
}
"""Languages in which a page shows no program of its own."""
TABS = {"typescript", "go", "csharp", "java", "yaml", "python"}


def examples() -> dict[str, set[str]]:
    """Texts of the examples by the suffix of their files."""
    found: dict[str, set[str]] = {}
    for file in EXAMPLES.rglob("*"):
        own = not {"sdks", "node_modules", "bin", "obj", "target"} & set(file.parts)
        if own and file.is_file() and file.suffix in SUFFIXES.values():
            found.setdefault(file.suffix, set()).add(file.read_text(encoding="utf-8"))
    return found


def test_a_program_on_a_page_is_an_example() -> None:
    known, seen = examples(), set()
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for language, block in re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            if language in SUFFIXES:
                seen.add((page.name, language))
                assert block in known[SUFFIXES[language]], f"{page.name} has its own {language}"

    assert ("README.md", "typescript") in seen


def test_the_page_has_a_tab_with_the_whole_example_of_each_language() -> None:
    page = (ROOT / "docs" / "languages.md").read_text(encoding="utf-8")
    tabs = dict(re.findall(r"^:sync: (\w+)\n\n```\{literalinclude\} (\S+)$", page, re.MULTILINE))

    assert set(tabs) == TABS == {each.name for each in EXAMPLES.iterdir() if each.is_dir()}
    for name, path in tabs.items():
        assert (ROOT / "docs" / path).resolve().is_relative_to(EXAMPLES / name)
        assert (ROOT / "docs" / path).is_file()


def test_an_example_takes_the_plugin_of_this_repository() -> None:
    for file in EXAMPLES.glob("*/Pulumi.yaml"):
        settings = yaml.safe_load(file.read_text(encoding="utf-8"))
        plugin = settings.get("packages", {}).get("eks-gpushare", "")
        if settings["runtime"]["name"] != "python":
            assert (file.parent / plugin / "PulumiPlugin.yaml").is_file(), file
