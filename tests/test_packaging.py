"""What is installed from the built wheel is whole."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_wheel_has_the_package_its_templates_and_both_scripts(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        scripts = archive.read(next(name for name in names if name.endswith("entry_points.txt"))).decode()
    assert wheel.name.startswith("git_memctl-")
    for template in (ROOT / "templates").iterdir():
        assert f"memctl/templates/{template.name}" in names
    assert "memctl/py.typed" in names
    assert {"memctl/example/memory/project.md", "memctl/example/shop/src/lantern/app.py"} <= names
    assert not [name for name in names if name.startswith(("tests/", "bench/"))]
    assert "memctl = memctl.__main__:run" in scripts
    assert "git-memctl = memctl.__main__:run" in scripts


def test_wheel_works_without_extras(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    shop = tmp_path / "shop"  # beside what is installed, whose files would be ranked, too
    shop.mkdir()
    (shop / "shop.ts").write_text('import "./cart";\nexport class Shop {\n  open() {}\n}\n')
    (shop / "cart.ts").write_text("")
    extras = ("ctok", "model2vec", "tree_sitter", "tree_sitter_go", "tree_sitter_javascript", "tree_sitter_typescript")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'site')!r}); sys.modules |= dict.fromkeys({extras!r})\n"
        "import memctl.cli.main as m; sys.exit(m.main())"
    )

    def run(*args: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", code, *args]
        return subprocess.run(command, cwd=shop, capture_output=True, text=True, check=True)

    run("init", "--git")
    run("decide", "From a wheel", "--rationale", "x")
    assert "From a wheel" in run("rehydrate").stdout
    assert (shop / ".memory" / "README.md").exists()
    assert "Shop.open()" in run("summarize", "shop.ts").stdout
    ranked = run("files", "--active", "shop.ts", "--explain")
    assert "cart.ts" in ranked.stdout
    assert "memctl's extra `languages`" in ranked.stderr
