"""From imports to files, in small trees as they are found in real projects."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from memctl.sources import manifests
from memctl.sources.facts import of_content
from memctl.sources.resolve import Resolver


def resolver(*names: str, **files: str) -> Resolver:
    """A resolver of some files; `files` are manifests by path, with `__` for a slash and `_` for a dot."""
    texts = {name.replace("__", "/").replace("_", "."): text for name, text in files.items()}
    split = {path.rpartition("/"): text for path, text in texts.items()}
    declared = {folder: manifests.declared_name(name, text) for (folder, _, name), text in split.items()}
    return Resolver([*names, *texts], declared)


PYTHON = resolver(
    *("src/shop/__init__.py", "src/shop/cart.py", "src/shop/pay/__init__.py", "src/shop/pay/card.py"),
    *("tests/test_cart.py", "tests/data.py", "scripts/run.py", "scripts/json.py", "app.py", "stubs/typed.pyi"),
)


@pytest.mark.parametrize(
    ("path", "imported", "target"),
    [
        ("tests/test_cart.py", "shop.cart", "src/shop/cart.py"),
        ("tests/test_cart.py", "shop.cart|Cart", "src/shop/cart.py"),
        ("tests/test_cart.py", "shop.pay|card", "src/shop/pay/card.py"),
        ("tests/test_cart.py", "shop|VERSION", "src/shop/__init__.py"),
        ("tests/test_cart.py", "data|VALUES", "tests/data.py"),
        ("src/shop/cart.py", ".|pay", "src/shop/pay/__init__.py"),
        ("src/shop/pay/card.py", "..cart|Cart", "src/shop/cart.py"),
        ("src/shop/pay/card.py", "..|cart", "src/shop/cart.py"),
        ("src/shop/pay/__init__.py", ".card|*", "src/shop/pay/card.py"),
        ("src/shop/cart.py", "app", "app.py"),
        ("scripts/run.py", "json", "scripts/json.py"),
    ],
)
def test_python_modules_are_found(path: str, imported: str, target: str) -> None:
    assert PYTHON.targets(path, [imported]) == {target}


@pytest.mark.parametrize(
    ("path", "imported"),
    [
        ("src/shop/cart.py", "json"),  # a script that is called as a module of Python is nobody else's
        ("src/shop/cart.py", "os.path|join"),
        ("src/shop/cart.py", ".....|far"),
        ("app.py", "..|above"),
        ("app.py", ""),
    ],
)
def test_import_from_outside_the_repository_has_no_target(path: str, imported: str) -> None:
    assert PYTHON.targets(path, [imported]) == set()


def test_import_of_an_ambiguous_name_means_the_nearer_module() -> None:
    two = resolver("a/pkg/__init__.py", "a/pkg/x.py", "b/pkg/__init__.py", "b/pkg/x.py", "b/main.py", "a/main.py")
    assert two.targets("b/main.py", ["pkg.x"]) == {"b/pkg/x.py"}
    assert two.targets("a/main.py", ["pkg.x"]) == {"a/pkg/x.py"}


SCRIPTS = resolver(
    *("src/main.ts", "src/cart/index.ts", "src/cart/item.tsx", "src/lib/money.js", "src/data.json", "src/types.d.ts"),
    *("src/cart.service.ts", "src/cart.module.ts", "src/lamp-oil/index.ts"),
    *("packages/ui/src/index.ts", "packages/ui/src/button.tsx", "packages/api/index.js", "web/page.tsx"),
    packages__ui__package_json='{"name": "@shop/ui"}',
    packages__api__package_json='{"name": "api"}',
)


@pytest.mark.parametrize(
    ("path", "imported", "target"),
    [
        ("src/main.ts", "./cart", "src/cart/index.ts"),
        ("src/main.ts", "./cart/item", "src/cart/item.tsx"),
        ("src/main.ts", "./cart/item.js", "src/cart/item.tsx"),
        ("src/cart/index.ts", "../lib/money", "src/lib/money.js"),
        ("src/cart/index.ts", "..", ""),
        ("src/main.ts", "./cart.service", "src/cart.service.ts"),
        ("src/main.ts", "./cart.gone", ""),
        ("src/main.ts", "./cart/index", "src/cart/index.ts"),
        ("src/main.ts", "./cart/index.js", "src/cart/index.ts"),
        ("src/main.ts", "./lamp-oil", "src/lamp-oil/index.ts"),
        ("src/main.ts", "./data.json", "src/data.json"),
        ("src/main.ts", "./types", "src/types.d.ts"),
        ("src/main.ts", "@/lib/money", "src/lib/money.js"),
        ("src/main.ts", "@shop/ui", "packages/ui/src/index.ts"),
        ("src/main.ts", "@shop/ui/button", "packages/ui/src/button.tsx"),
        ("src/main.ts", "api", "packages/api/index.js"),
        ("web/page.tsx", "cart/item", "src/cart/item.tsx"),
        ("web/page.tsx", "@src/cart", "src/cart/index.ts"),
        ("src/main.ts", "react", ""),
        ("src/main.ts", "../../outside", ""),
        ("src/main.ts", "/etc/passwd", ""),
        ("src/main.ts", "@material/cart", ""),
    ],
)
def test_scripts_are_found(path: str, imported: str, target: str) -> None:
    assert SCRIPTS.targets(path, [imported]) == ({target} if target else set())


def test_a_go_package_is_all_of_its_files_but_the_tests() -> None:
    go = resolver(
        *("main.go", "cart/cart.go", "cart/item.go", "cart/cart_test.go", "tools/gen/gen.go", "tools/gen/sub/x.go"),
        go_mod="module example.org/shop\n\ngo 1.22\n",
        tools__go_mod='module "example.org/shop/tools"\n',
    )
    assert go.targets("main.go", ["example.org/shop/cart"]) == {"cart/cart.go", "cart/item.go"}
    assert go.targets("main.go", ["example.org/shop"]) == {"main.go"}
    assert go.targets("main.go", ["example.org/shop/tools/gen"]) == {"tools/gen/gen.go"}
    assert go.targets("main.go", ["example.org/shopping"]) == set()
    assert go.targets("main.go", ["fmt"]) == set()


def test_the_imports_of_memctl_itself_are_those_that_python_sees() -> None:
    root = Path(__file__).parents[2]
    folders = ("memctl", "bench", "tests")
    paths = [path.relative_to(root).as_posix() for folder in folders for path in (root / folder).rglob("*.py")]
    known = Resolver(paths, {})
    for path in [path for path in sorted(paths) if not path.startswith("tests/")][::9]:
        text = (root / path).read_text()
        expected = set()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                expected |= {target for alias in node.names if (target := module_file(root, alias.name))}
            elif isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    inner = module_file(root, f"{node.module}.{alias.name}")
                    expected |= {inner or module_file(root, node.module)} - {""}
        assert known.targets(path, of_content(path, text.encode()).imports) == expected, path


def module_file(root: Path, dotted: str) -> str:
    base = dotted.replace(".", "/")
    return next((name for name in (f"{base}.py", f"{base}/__init__.py") if (root / name).is_file()), "")


RUST = resolver(
    *(
        "src/lib.rs",
        "src/cart.rs",
        "src/cart/item.rs",
        "src/pay/mod.rs",
        "src/pay/card.rs",
        "crates/lamp-oil/src/lib.rs",
    ),
    *("crates/lamp-oil/src/wick.rs", "crates/lamp-oil/src/main.rs"),
    **{"crates__lamp-oil__Cargo_toml": '[package]\nname = "lamp-oil"\n'},
)


@pytest.mark.parametrize(
    ("path", "imported", "target"),
    [
        ("src/lib.rs", "mod cart", "src/cart.rs"),
        ("src/lib.rs", "mod pay", "src/pay/mod.rs"),
        ("src/cart.rs", "mod item", "src/cart/item.rs"),
        ("src/pay/mod.rs", "mod card", "src/pay/card.rs"),
        ("src/cart/item.rs", "crate::pay::card::Card", "src/pay/card.rs"),
        ("src/cart/item.rs", "crate::VERSION", "src/lib.rs"),
        ("src/cart/item.rs", "super::total", "src/cart.rs"),
        ("src/pay/card.rs", "super::super::cart::Cart", "src/cart.rs"),
        ("src/cart.rs", "self::item::Item", "src/cart/item.rs"),
        ("src/lib.rs", "lamp_oil::wick::Wick", "crates/lamp-oil/src/wick.rs"),
        ("crates/lamp-oil/src/main.rs", "crate::wick", "crates/lamp-oil/src/wick.rs"),
        ("src/lib.rs", "cart::Cart", "src/cart.rs"),
        ("src/lib.rs", "std::io::Read", ""),
        ("src/lib.rs", "mod gone", ""),
    ],
)
def test_rust_modules_and_crates_of_the_workspace_are_found(path: str, imported: str, target: str) -> None:
    assert RUST.targets(path, [imported]) == ({target} if target else set())


CPP_AND_JAVA = resolver(
    *("src/cart.c", "src/cart.h", "src/pay/card.h", "include/shop/money.h", "lib/include/shop/money.h"),
    *(
        "app/src/main/java/org/shop/Cart.java",
        "app/src/main/java/org/shop/Item.kt",
        "app/src/test/java/org/CartTest.java",
    ),
)


@pytest.mark.parametrize(
    ("path", "imported", "targets"),
    [
        ("src/cart.c", "cart.h", {"src/cart.h"}),
        ("src/cart.c", "pay/card.h", {"src/pay/card.h"}),
        ("src/pay/card.h", "../cart.h", {"src/cart.h"}),
        ("src/cart.c", "shop/money.h", {"include/shop/money.h"}),
        ("lib/src/a.c", "shop/money.h", {"lib/include/shop/money.h"}),
        ("src/cart.c", "stdio.h", set()),
        ("src/cart.c", "cart", set()),
        ("app/src/test/java/org/CartTest.java", "org.shop.Cart", {"app/src/main/java/org/shop/Cart.java"}),
        ("app/src/test/java/org/CartTest.java", "org.shop.Cart.Line", {"app/src/main/java/org/shop/Cart.java"}),
        (
            "app/src/test/java/org/CartTest.java",
            "org.shop.*",
            {"app/src/main/java/org/shop/Cart.java", "app/src/main/java/org/shop/Item.kt"},
        ),
        ("app/src/test/java/org/CartTest.java", "java.util.List", set()),
    ],
)
def test_headers_and_classes_are_found_by_the_end_of_their_path(path: str, imported: str, targets: set[str]) -> None:
    assert CPP_AND_JAVA.targets(path, [imported]) == targets
