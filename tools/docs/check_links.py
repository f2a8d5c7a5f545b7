"""Ask for every link of the documentation that leads out of it, as a reader would.

python tools/docs/check_links.py           exit code 1 if a link is dead
python tools/docs/check_links.py --list    print the links and ask nobody

It needs the network, so it is no test: run it by hand or by `.github/workflows/links.yml`. A link
is dead if its server says so (404, 410), if its name is not known, or if its page has no such
anchor. What a server refuses to programs (401, 403, 429), and what fails on its side, is told and
forgiven: a reader may get it. Where no name at all is known there is no network: exit code 2. Links
within the repository are `tests/unit/test_links.py`'s business.
"""

from __future__ import annotations

import argparse
import re
import socket
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import links

if TYPE_CHECKING:
    from collections.abc import Sequence

    from links import Link

ROOT = Path(__file__).parents[2]
PAGES = ("*.md", "docs/**/*.md", "examples/**/*.md")
_DEAD = {404, 410}
_AGAIN = {429, 500, 502, 503, 504}
_UNKNOWN = "its name is not known"
_TRIES, _WAIT_SECONDS, _LARGEST = 3, 5, 4_000_000
_HEADERS = {
    "User-Agent": "Mozilla/5.0 (compatible; eks-gpushare documentation link check)",
    "Accept": "text/html,application/xhtml+xml,*/*;q=0.8",
}


class Answer(NamedTuple):
    """What came of asking for a link."""

    dead: bool
    said: str
    """Empty if it leads somewhere."""


def external() -> dict[str, list[Link]]:
    """Where each link out of the repository stands."""
    found: dict[str, list[Link]] = {}
    for page in sorted({page for pattern in PAGES for page in ROOT.glob(pattern)}):
        for link in links.links(page):
            if link.target.startswith(("http://", "https://")):
                found.setdefault(link.target, []).append(link)
    return found


def ask(target: str, timeout: float) -> Answer:
    """Ask for a link, again if the server is busy."""
    answer, again = _asked(target, timeout)
    for attempt in range(1, _TRIES):
        if again:
            time.sleep(_WAIT_SECONDS * attempt)
            answer, again = _asked(target, timeout)
    return answer


def _asked(target: str, timeout: float) -> tuple[Answer, bool]:
    address, _, anchor = target.partition("#")
    request = urllib.request.Request(address, headers=_HEADERS)  # noqa: S310  (http and https only)
    try:
        with urllib.request.urlopen(request, timeout=timeout) as page:  # noqa: S310
            text = page.read(_LARGEST).decode("utf-8", "replace") if anchor else ""
    except urllib.error.HTTPError as error:
        return Answer(error.code in _DEAD, f"the server says {error.code}"), error.code in _AGAIN
    except urllib.error.URLError as error:
        unknown = isinstance(error.reason, socket.gaierror)
        said = _UNKNOWN if unknown else f"cannot be reached: {error.reason}"
        return Answer(unknown, said), not unknown
    except (OSError, ValueError) as error:
        return Answer(dead=False, said=f"cannot be read: {error}"), True
    if anchor and not _has(text, anchor, address):
        return Answer(dead=True, said=f"the page has no #{anchor}"), False
    return Answer(dead=False, said=""), False


def _has(page: str, anchor: str, address: str) -> bool:
    """Whether a page has an anchor; GitHub makes those of lines and headings in the browser."""
    wanted = re.escape(urllib.parse.unquote(anchor))
    if re.search(rf"""(?:id|name)=["']?(?:user-content-)?{wanted}["'\s>]""", page):
        return True
    made_later = address.startswith("https://github.com/") and (
        re.fullmatch(r"L\d+(-L\d+)?|issuecomment-\d+|discussion_r\d+", anchor) is not None
        or "/blob/" in address
    )
    return made_later or anchor.startswith(":~:text=")


def main(words: Sequence[str]) -> int:
    """Ask for all links, and say which lead nowhere."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="print the links and ask nobody")
    parser.add_argument("--only", metavar="TEXT", default="", help="links that contain a text")
    parser.add_argument("--timeout", type=float, default=20, help="seconds (default: 20)")
    parser.add_argument("--jobs", type=int, default=8, help="at the same time (default: 8)")
    options = parser.parse_args(words)
    found = {target: at for target, at in external().items() if options.only in target}
    if options.list:
        print("\n".join(found))
        return 0
    with ThreadPoolExecutor(options.jobs) as pool:
        answers = dict(
            zip(found, pool.map(lambda each: ask(each, options.timeout), found), strict=True)
        )
    if answers and all(answer.said == _UNKNOWN for answer in answers.values()):
        print("no name of a server is known: there is no network", file=sys.stderr)
        return 2
    dead = {target: answer for target, answer in answers.items() if answer.dead}
    unclear = {t: a for t, a in answers.items() if a.said and not a.dead}
    for title, kind in (("not clear", unclear), ("dead", dead)):
        for target, answer in kind.items():
            first = found[target][0]
            where = f"{first.page.relative_to(ROOT).as_posix()}:{first.line}"
            print(f"{title}: {target}\n  {where} {answer.said}")
    print(f"{len(found)} links, {len(dead)} dead, {len(unclear)} not clear")
    return 1 if dead else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
