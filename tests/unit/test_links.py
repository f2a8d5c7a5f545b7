"""Links of the documentation: those within the repository lead somewhere, as files and when built.

Links out of it are asked for by `tools/docs/check_links.py`, which needs the network; here is tried
on a server of this test's own that it tells a dead one from one that lives.
"""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import check_links
import links
import make_pages
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    page
    for pattern in check_links.PAGES
    for page in ROOT.glob(pattern)
    if not make_pages.is_generated(page)
)
BUILT = ROOT / "docs"


@pytest.fixture(scope="module")
def made(written_pages: dict[Path, str]) -> dict[Path, str]:
    """The pages that are written before the documentation is built."""
    return written_pages


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_link_within_the_repository_leads_somewhere(page: Path, made: dict[Path, str]) -> None:
    assert lost(page, None, made) == {}


def test_a_link_of_a_page_that_is_written_leads_somewhere(made: dict[Path, str]) -> None:
    broken = {page.name: lost(page, text, made) for page, text in made.items()}

    assert {name: found for name, found in broken.items() if found} == {}


def test_a_page_that_is_read_where_it_stands_names_none_that_is_written(
    made: dict[Path, str],
) -> None:
    """On the host of the repository there are none of those."""
    named = {
        link.target
        for page in ROOT.glob("*.md")
        for link in links.links(page)
        if (page.parent / link.target.partition("#")[0]).resolve() in made
    }

    assert named == set()


def lost(page: Path, text: str | None, made: dict[Path, str]) -> dict[str, str]:
    return {
        f"line {link.line}: {link.target}": why
        for link in links.links(page, text)
        if not link.external and (why := links.broken(link, made))
    }


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if BUILT in page.parents],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_a_link_of_a_built_page_stays_in_what_is_built(page: Path) -> None:
    outside = [
        link.target
        for link in links.links(page)
        if not link.external
        and not link.target.startswith("#")
        and BUILT not in (page.parent / link.target).resolve().parents
    ]

    assert outside == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[a](b.md)", ["b.md"]),
        ("![a](b.svg)", ["b.svg"]),
        ('[a](b.md "title")', ["b.md"]),
        ("[a [b]](c.md#d)", ["c.md#d"]),
        ("[![a](b.svg)](c.md)", ["c.md"]),
        ("[a]: b.md", ["b.md"]),
        ("<https://example.org/a>", ["https://example.org/a"]),
        ('<img src="b.svg">', ["b.svg"]),
        ("`[a](b.md)`", []),
        ("``[a](`b.md)``", []),
        ("```yaml\n[a](b.md)\n```\n", []),
        ("````markdown\n```\na\n```\n[a](b.md)\n````\n", []),
    ],
)
def test_what_a_link_is(text: str, found: list[str], tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")

    assert [link.target for link in links.links(page)] == found


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("there.md", None),
        ("there.md#a-heading-with-code", None),
        ("there.md#again", None),
        ("there.md#again-1", None),
        ("#here", None),
        ("there.md#again-2", "there is no such heading in there.md"),
        ("there.md#a-heading", "there is no such heading in there.md"),
        ("there.md#too-deep", "there is no such heading in there.md"),
        ("there.md#no-heading", "there is no such heading in there.md"),
        ("gone.md", "there is no such file"),
        ("#gone", "there is no such heading in here.md"),
    ],
)
def test_where_a_link_leads(target: str, why: str | None, tmp_path: Path) -> None:
    here, there = tmp_path / "here.md", tmp_path / "there.md"
    here.write_text("# Here\n", encoding="utf-8")
    there.write_text(
        "# There\n\n## A heading with `code`!\n\n## Again\n\n### Again\n\n#### Too deep\n\n"
        "```sh\n# no heading\n```\n",
        encoding="utf-8",
    )

    assert links.broken(links.Link(here, 1, target)) == why


class Pages(BaseHTTPRequestHandler):
    """Pages that are there, gone, refused, or busy once."""

    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        busy = self.path == "/busy" and self.asked.count("/busy") == 1
        code = 503 if busy else {"/gone": 404, "/refused": 403}.get(self.path, 200)
        self.send_response(code)
        self.end_headers()
        self.wfile.write(b'<h2 id="part">a part</h2>')

    def log_message(self, *_: object) -> None:
        """Nothing on the terminal."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Pages) as pages:
        threading.Thread(target=pages.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{pages.server_port}"
        pages.shutdown()


@pytest.mark.parametrize(
    ("path", "dead", "said"),
    [
        ("/there", False, ""),
        ("/there#part", False, ""),
        ("/busy", False, ""),
        ("/there#gone", True, "the page has no #gone"),
        ("/gone", True, "the server says 404"),
        ("/refused", False, "the server says 403"),
    ],
)
def test_a_dead_link_is_told_from_one_that_lives(
    server: str, path: str, dead: bool, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_links, "_WAIT_SECONDS", 0)

    assert check_links.ask(f"{server}{path}", timeout=10) == check_links.Answer(dead, said)


def test_a_server_whose_name_nobody_knows_is_dead() -> None:
    answer = check_links.ask("http://nowhere.invalid/", timeout=10)  # RFC 6761: never known

    assert answer == check_links.Answer(dead=True, said="its name is not known")
