"""Write what of docs/ comes from the code: findings, policies, the stack file, IAM, pictures.

python tools/docs/make_pages.py           write all of it, as `make docs` does before it builds
python tools/docs/make_pages.py --check   say which files of the repository are out of date

Most of it is in no commit: the documentation is built and published with each of them.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import compatibility_page
import component_reference
import finding_pages
import finding_tables
import iam_page
import lint_corpus_page
import mode_pictures
import monitoring_pages
import mutants_page
import nodes_launched
import picture
import policy_pages
import stack_file_page

from eks_gpushare.config.schema import stack_file_schema

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
_FOLDERS = (DOCS / "findings", DOCS / "policies")
_PAGES = tuple(
    DOCS / name
    for name in ("stack-file.md", "component-reference.md", "compatibility.md", "mutants.md")
)


def generated() -> dict[Path, str]:
    """Text of every file that is not in the repository: `.gitignore` names them."""
    files = {DOCS / "findings" / name: text for name, text in finding_pages.pages()}
    files |= {DOCS / name: text for name, text in policy_pages.pages().items()}
    files[DOCS / "stack-file.md"] = stack_file_page.page()
    files[DOCS / "component-reference.md"] = component_reference.page()
    files[DOCS / "compatibility.md"] = compatibility_page.page()
    files[DOCS / "mutants.md"] = mutants_page.page()
    return files


def is_generated(page: Path) -> bool:
    """Whether a file below `docs` is one of those, without writing them all."""
    return page in _PAGES or page.parent in _FOLDERS


def kept() -> dict[Path, str]:
    """Text of every file that is: tables within pages, what README shows, and what editors read."""
    files = {
        DOCS / name: with_tables((DOCS / name).read_text(encoding="utf-8"))
        for name, with_tables in (
            ("iam.md", iam_page.page),
            ("lab.md", finding_tables.lab),
            ("monitoring.md", monitoring_pages.measured_page),
            ("alerts.md", monitoring_pages.alerts_page),
            ("verify.md", finding_tables.verify),
            ("scaling.md", nodes_launched.page),
            ("lint-corpus.md", lint_corpus_page.page),
        )
    }
    files |= policy_pages.presets()
    files |= mode_pictures.pictures()
    files[picture.FILE] = picture.draw()
    files[nodes_launched.FILE] = nodes_launched.draw()
    files[DOCS / "stack-file.schema.json"] = json.dumps(stack_file_schema(), indent=2) + "\n"
    return files


def outdated() -> list[str]:
    """Files of the repository that are missing or differ."""
    return sorted(
        path.relative_to(ROOT).as_posix()
        for path, text in kept().items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    )


def main(words: list[str]) -> int:
    """Write, or with `--check` compare what is in the repository."""
    if "--check" in words:
        found = outdated()
        print("\n".join(found) or "up to date")
        return 1 if found else 0
    for name in outdated():
        print(name)
    for folder in _FOLDERS:
        shutil.rmtree(folder, ignore_errors=True)  # pages of subjects that are no more
    for path, text in {**generated(), **kept()}.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
