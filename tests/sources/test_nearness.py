"""How near files are to active ones, by what they import."""

from __future__ import annotations

import pytest

from memctl.sources.facts import of_content
from memctl.sources.nearness import nearness
from memctl.store.file_list import FileList
from memctl.store.source_facts import FileFacts
from tests.sources import listed


def contents(**imports: str) -> FileList:
    return listed.contents({f"{name}.py": FileFacts(1, imports=tuple(text.split())) for name, text in imports.items()})


def test_points_fall_with_the_distance_in_imports() -> None:
    found = nearness(
        contents(active="near os", near="far", far="further", further="", user="active", alone=""), {"active.py"}
    )
    assert {path: near.points for path, near in found.items()} == {
        "active.py": 20,
        "near.py": 20,
        "far.py": 10,
        "user.py": 15,
    }
    assert found["far.py"].why == ("near.py imports it, and an active file imports near.py",)


def test_relations_add_up_to_no_more_than_the_most() -> None:
    found = nearness(contents(active="near", near="both", both="active"), {"active.py"})
    assert found["both.py"].points == 20
    assert len(found["both.py"].why) == 2


def test_files_that_import_each_other_get_the_points_once() -> None:
    found = nearness(contents(a="b a", b="a"), {"a.py"})
    assert {path: near.points for path, near in found.items()} == {"a.py": 20, "b.py": 20}


def test_without_active_files_nothing_is_near() -> None:
    assert nearness(contents(a="b", b=""), set()) == {}


@pytest.mark.parametrize(
    ("importer", "text", "target", "others"),
    [
        ("shop/cart.py", "from . import Item\n", "shop/__init__.py", {}),
        ("shop/sub/cart.py", "from .. import Item\n", "shop/__init__.py", {"shop/sub/__init__.py": ""}),
        ("app.py", "import shop.cart\n", "shop/cart/__init__.py", {"shop/__init__.py": ""}),
        ("app.py", "import main\n", "main.py", {}),
        ("web/app.ts", 'import { x } from "."\n', "web/index.ts", {}),
        ("web/app.ts", 'import { x } from "./cart"\n', "web/cart/index.ts", {}),
        ("web/app.ts", 'import { x } from "./cart.js"\n', "web/cart.ts", {}),
        ("web/app.ts", 'import { x } from "./lamp-oil"\n', "web/lamp-oil/index.ts", {}),
        ("web/app.ts", 'import { x } from "@/cart"\n', "src/cart.ts", {}),
        ("web/app.ts", 'import { x } from "shop"\n', "lib/src/index.ts", {"lib/package.json": '{"name": "shop"}'}),
        ("src/app.rs", "use lamp_oil::Wick;\n", "lamp-oil/src/lib.rs", {"lamp-oil/Cargo.toml": 'name = "lamp-oil"\n'}),
        ("cmd/run.go", 'package main\n\nimport "example.org/code/cart"\n', "cart/items.go",
         {"go.mod": "module example.org/code\n"}),
        ("cmd/run.go", 'package main\n\nimport "example.org/code"\n', "items.go",
         {"go.mod": "module example.org/code\n"}),
        ("src/a.c", '#include "cart.h"\n', "include/cart.h", {}),
        ("src/b/App.java", "import org.shop.cart.*;\n", "src/org/shop/cart/Item.java", {}),
        ("src/b/App.java", "import static org.shop.Item.total;\n", "src/org/shop/Item.java", {}),
        ("src/cart.rs", "use crate::Item;\n", "src/lib.rs", {}),
        ("src/cart/item.rs", "use super::total;\n", "src/cart.rs", {}),
        ("lib/app.rb", "require 'cart'\n", "lib/cart.rb", {}),
    ],
)  # fmt: skip
def test_importer_is_found_without_resolving_the_imports_of_all_files(
    importer: str, text: str, target: str, others: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {importer: text, target: "", "README.md": "# Shop\n", **others}
    known = listed.contents({path: of_content(path, content.encode()) for path, content in files.items()})
    found = nearness(known, {target})
    assert found[importer].points == 15
    monkeypatch.setattr("memctl.sources.nearness._may_import", lambda *_: set(known))  # all imports are resolved
    assert nearness(known, {target}) == found


def test_neighbours_of_likely_files_get_the_most_points_that_one_of_these_gives() -> None:
    files = contents(near="", active="near", likely="near deep", deep="", less="deep", user="likely less")
    found = nearness(files, {"active.py"}, likely={"likely.py": 0.5, "less.py": 0.4})
    assert {path: (near.points, near.why) for path, near in found.items()} == {
        "active.py": (20, ("it is active",)),
        "near.py": (20, ("active.py imports it",)),
        "deep.py": (10, ("likely.py imports it",)),
        "user.py": (7.5, ("it imports likely.py",)),
    }
