"""Write what of docs/ comes from the code: findings, policies, the stack file, IAM, pictures.

python tools/docs/make_pages.py           write them
python tools/docs/make_pages.py --check   say which are out of date, exit code 1 if any is
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import finding_pages
import iam_page
import lab_page
import lint_corpus_page
import mutants_page
import nodes_launched
import picture
import policy_pages
import stack_file_page

from eks_gpushare.config.schema import stack_file_schema

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def generated() -> dict[Path, str]:
    """Text of every generated file."""
    files = {DOCS / "findings" / name: text for name, text in finding_pages.pages()}
    files |= {DOCS / name: text for name, text in policy_pages.pages().items()}
    files[DOCS / "stack-file.md"] = stack_file_page.page()
    for name, with_tables in (
        ("iam.md", iam_page.page),
        ("lab.md", lab_page.page),
        ("scaling.md", nodes_launched.page),
        ("lint-corpus.md", lint_corpus_page.page),
    ):
        files[DOCS / name] = with_tables((DOCS / name).read_text(encoding="utf-8"))
    files[DOCS / "mutants.md"] = mutants_page.page()
    files[picture.FILE] = picture.draw()
    files[nodes_launched.FILE] = nodes_launched.draw()
    files[DOCS / "stack-file.schema.json"] = json.dumps(stack_file_schema(), indent=2) + "\n"
    return files


def outdated() -> list[str]:
    """Files that are missing, differ, or belong to a code that is no more."""
    files = generated()
    folders = ("findings", "policies")
    stale = [path for name in folders for path in (DOCS / name).glob("*.md") if path not in files]
    for path, text in files.items():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            stale.append(path)
    return sorted(path.relative_to(ROOT).as_posix() for path in stale)


def main(words: list[str]) -> int:
    """Write, or with `--check` compare."""
    found = outdated()
    if "--check" in words:
        print("\n".join(found) or "up to date")
        return 1 if found else 0
    files = generated()
    for name in found:
        path = ROOT / name
        if path in files:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(files[path], encoding="utf-8", newline="\n")
        else:
            path.unlink()
        print(name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
