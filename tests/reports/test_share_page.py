"""The map of shares as a page: what stands on it, that no stranger's text runs, how it fits."""

from __future__ import annotations

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eks_gpushare.cli import main
from eks_gpushare.reports.share_map import (
    HeldShares,
    MapCause,
    MapNode,
    MapPool,
    MapShares,
    ShareMap,
)
from eks_gpushare.reports.share_page import MOST_CAUSES, MOST_NODES, share_page

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
CLUSTER = ROOT / "examples" / "verify" / "cluster.json"
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
VOID = {"meta"}
GPU = "nvidia.com/gpu"


class Page(HTMLParser):
    """A page as a browser takes it apart; tags that are not closed in order are an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def squares(self, kind: str) -> int:
        """Squares whose class begins so."""
        return sum(
            tag == "rect" and (attrs.get("class") or "").startswith(kind)
            for tag, attrs in self.tags
        )


def unstyled(text: str) -> str:
    """The page without its style, which is the same on every page."""
    return re.sub("<style>.*?</style>", "<style></style>", text, flags=re.DOTALL)


def node(*shares: MapShares, **more: Any) -> MapNode:
    found = {"names": ("gpu-0",), "type_name": "g6.12xlarge", "gpus": 4, "usd_per_hour": 4.6}
    return MapNode(shares=shares, **{**found, **more})


def map_of(*pools: MapPool, **more: Any) -> ShareMap:
    return ShareMap("GPU shares", "prod", "now", "fine", pools, **more)


def cause(message: str = "It is not ready.") -> MapCause:
    return MapCause("error", "GPU1301", "https://example.com", "pools.a", message, "Mend it.")


TEXTS = st.text(max_size=30).filter(lambda text: "\x00" not in text and "\r" not in text)
COUNTS = st.integers(0, 30)
SHARES = st.builds(
    MapShares,
    TEXTS,
    COUNTS,
    st.none() | COUNTS,
    st.lists(st.builds(HeldShares, TEXTS, TEXTS, st.integers(1, 4)), max_size=4).map(tuple),
)
NODES = st.builds(
    MapNode,
    st.lists(TEXTS, min_size=1, max_size=3).map(tuple),
    TEXTS,
    st.none() | COUNTS,
    st.none() | st.floats(0, 100),
    st.lists(SHARES, max_size=3).map(tuple),
    TEXTS,
)


@given(st.lists(st.builds(MapPool, TEXTS, st.lists(NODES, max_size=4).map(tuple)), max_size=3))
@settings(max_examples=25)
def test_each_share_is_one_square_whatever_things_are_called(pools: list[MapPool]) -> None:
    page = Page(share_page(map_of(*pools)))

    every = [shares for pool in pools for each in pool.nodes for shares in each.shares]
    assert page.squares("h") == sum(shares.used for shares in every)
    assert page.squares("free") == sum(shares.free for shares in every)
    assert page.squares("lost") == sum(shares.lost for shares in every)
    assert {tag for tag, _ in page.tags}.isdisjoint({"script", "iframe", "img", "link", "object"})


def test_names_of_strangers_are_text() -> None:
    name = "<script>alert(1)</script>"
    held = (HeldShares(f"team/{name}", name, 1),)
    text = share_page(
        map_of(
            MapPool(name, (node(MapShares(name, 2, 2, held), state=name, names=(name,)),)),
            causes=(cause(name),),
            notes=(name,),
        )
    )

    assert name not in text
    assert text.count("&lt;script&gt;") > 8
    assert not re.search(r"(src|@import|url\((?!#))", text)


def test_totals_are_those_of_all_nodes_and_unknown_prices_stay_unknown() -> None:
    one = node(MapShares(GPU, 40, 40, (HeldShares("a/b", "b-1", 3),)))
    alike = node(MapShares(GPU, 40, 40), names=("gpu-1", "gpu-2"))
    dear = MapPool("dear", (node(MapShares(GPU, 1), usd_per_hour=None),))
    words = Page(share_page(map_of(MapPool("gpu", (one, alike)), dear))).words

    row = words[words.index("USD/hour") + 1 :]
    assert row[:6] == ["gpu", GPU, "3", "3 of 120", "120", "13.80"]
    assert row[6:12] == ["dear", GPU, "1", "0 of 1", "-", "unknown"]
    assert "gpu-1 and 1 alike" in words


def test_a_large_cluster_is_a_small_page_with_what_is_broken_first() -> None:
    sound = tuple(
        node(MapShares(GPU, 40, 40, (HeldShares("a/b", f"b-{n}", 13),)), names=(f"n-{n}",))
        for n in range(1000)
    )
    broken = node(MapShares(GPU, 0, 40), names=("lost",))
    told = [cause(f"{number} is wrong.") for number in range(MOST_CAUSES + 7)]
    text = share_page(map_of(MapPool("gpu", (*sound, broken)), causes=tuple(told)))

    page = Page(text)
    assert len(text) < 1_000_000
    assert page.words.index("lost") < page.words.index("n-0")
    assert f"and {1001 - MOST_NODES} more" in page.words
    assert "and 7 more, which --json has" in page.words


def test_a_cluster_is_drawn_as_verify_finds_it(
    tmp_path: Path, golden: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    file = tmp_path / "page.html"
    given = str(CLUSTER.relative_to(ROOT))
    code = main(["verify", "--quiet", "--from", given, "--html", str(file)])

    assert code == 0
    golden("reports/verify.html", unstyled(file.read_text(encoding="utf-8")))


def test_a_stack_is_drawn_with_its_pods(
    tmp_path: Path, golden: Callable[[str, str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "page.html"
    assert main(["preview", "serve", "--quiet", "--html", str(file)]) == 0

    text = file.read_text(encoding="utf-8")
    assert capsys.readouterr().out
    assert [word for word in Page(text).words if word.startswith("default/")] == [
        *("default/gpu-mig", "default/gpu-mig 1"),
        *("default/gpu-slicing", "default/gpu-slicing 1"),
    ]
    golden("reports/preview-serve.html", unstyled(text))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("verify", "--from", str(CLUSTER), "--html", ""),
            "--html names no file",
        ),
        (("preview", "serve", "--html", ""), "--html names no file"),
        (("preview", "serve", "--html", "."), ". cannot be written to: Is a directory"),
        (("preview", "serve", "--pod", "slices", "--html", "a"), "leave --html away"),
        (("preview", "serve", "dev", "--html", "a"), "--html is for one STACK"),
    ],
)
def test_a_page_that_cannot_be_written_is_said(
    words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.skipif(not CHROMIUM, reason="needs a browser: chromium")
@pytest.mark.parametrize("width", [400, 1200])
def test_nothing_is_wider_than_the_window_of_a_real_browser(tmp_path: Path, width: int) -> None:
    """The page has no script of its own; the test gives it one that says how wide it is."""
    held = (HeldShares("team-a/a-workload-with-a-very-long-name-indeed", "p", 9),)
    drawn = map_of(
        MapPool("notebooks", (node(MapShares(f"{GPU}.shared", 28, 40, held), state="not ready"),)),
        causes=(cause("nvidia-device-plugin-gpu-feature-discovery " * 4),),
    )
    told = "document.title = document.documentElement.scrollWidth + ' of ' + innerWidth"
    file = tmp_path / "page.html"
    text = share_page(drawn).replace("</body>", f"<script>{told}</script></body>")
    file.write_text(text, encoding="utf-8")
    browser = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    done = subprocess.run(
        [*browser, f"--user-data-dir={tmp_path / 'profile'}", f"--window-size={width},900", file],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    found = re.search(r"<title>(\d+) of (\d+)</title>", done.stdout)
    assert found is not None, done.stderr
    assert int(found[1]) <= int(found[2])
