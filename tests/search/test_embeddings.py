"""Similarity of meaning, with a real model of a few words made here."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from memctl.record.filters import Filters
from memctl.record.snapshot import Snapshot
from memctl.search import embeddings, ranking
from memctl.store import load
from memctl.store.memory import open_memory
from tests.conftest import NOW, Memctl, git

MODEL2VEC = pytest.importorskip("model2vec", reason="the extra `semantic` is not installed")
WORDS = {"lamp": (1, 0, 0), "lantern": (0.9, 0.1, 0), "tea": (0, 1, 0), "kettle": (0, 0.9, 0.1), "oil": (0.5, 0, 0.5)}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """The folder of a model in model2vec's form."""
    import numpy
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.normalizers import Lowercase
    from tokenizers.pre_tokenizers import Whitespace

    numbers = {word: number for number, word in enumerate(["[UNK]", *WORDS])}
    tokenizer = Tokenizer(WordLevel(numbers, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = Lowercase(), Whitespace()
    vectors = numpy.array([(0, 0, 0), *WORDS.values()], dtype=numpy.float32)
    folder = tmp_path / "model"
    MODEL2VEC.StaticModel(vectors, tokenizer).save_pretrained(str(folder))
    return folder


@pytest.fixture
def repo_with_model(repo: Path, memctl: Memctl, model: Path) -> Path:
    git(repo, "config", "memctl.semanticModel", str(model))
    for title in ("Lantern", "Kettle", "Wombat", "Marmot"):
        memctl("learn", title)
    return repo


def snapshot(repo: Path) -> Snapshot:
    return load.disk(open_memory(repo, os.environ))


def titles(repo: Path, query: str) -> list[str]:
    return [result.title for result in ranking.search(snapshot(repo), query, NOW, Filters())]


def test_records_of_the_same_meaning_are_found(repo_with_model: Path) -> None:
    assert titles(repo_with_model, "lamp") == ["Lantern"]
    assert titles(repo_with_model, "tea") == ["Kettle"]


def test_words_and_meaning_are_fused(repo_with_model: Path) -> None:
    assert set(titles(repo_with_model, "lamp wombat")) == {"Wombat", "Lantern"}
    assert titles(repo_with_model, "lamp wombat")[0] == "Wombat"


def test_phrases_and_prefixes_match_literally_despite_a_model(repo_with_model: Path) -> None:
    assert titles(repo_with_model, '"lamp"') == []
    assert titles(repo_with_model, "lamp*") == []


def test_a_query_that_the_model_does_not_know_is_searched_by_words(repo_with_model: Path) -> None:
    assert titles(repo_with_model, "marmot") == ["Marmot"]


def test_the_command_prints_what_the_model_found(repo_with_model: Path, memctl: Memctl) -> None:
    found = memctl("search", "lamp", "--json").data["results"]
    assert [result["record"]["title"] for result in found] == ["Lantern"]
    assert 0 < found[0]["meaning"] <= found[0]["score"]
    header, *_, row = memctl("search", "lamp", "--explain").out.strip().split("\n")
    assert len(row.split()[:6]) == len([number for number in row.split()[:6] if number.startswith("0.")]), header


def test_vectors_are_kept_by_content(repo_with_model: Path, memctl: Memctl) -> None:
    def kept() -> int:
        view = snapshot(repo_with_model)
        model = embeddings.load(view.texts.semantic_model)
        return len(view.texts.recall([model.key(text) for _, text in view.texts.all_texts()]))

    assert kept() == 0
    titles(repo_with_model, "lamp")
    assert kept() == 4
    memctl("learn", "Tea")
    assert kept() == 4
    titles(repo_with_model, "lamp")
    assert kept() == 5


def test_another_model_has_other_keys(model: Path, tmp_path: Path) -> None:
    first = embeddings.load(str(model)).key("text")
    other = tmp_path / "other"
    other.mkdir()
    for file in model.iterdir():
        (other / file.name).write_bytes(file.read_bytes())
        os.utime(other / file.name, (1, 1))
    assert embeddings.load(str(other)).key("text") != first


def test_a_model_in_a_package_is_found(tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site" / "words_of_lamps"
    (package / "weights").mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('a package with a model is not run')\n")
    (package / "weights" / "lamps.safetensors").write_bytes((model / "model.safetensors").read_bytes())
    (package / "lamps_tokenizer.json").write_bytes((model / "tokenizer.json").read_bytes())
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    vectors = embeddings.load("words_of_lamps").vectors(["lamp", "lantern", "tea", "unheard"])
    assert vectors[0] @ vectors[1] > 0.9 > vectors[0] @ vectors[2]
    assert not vectors[3].any()


@pytest.mark.parametrize("name", ["no_such_package", "minishlab/potion-base-8M", "/no/such/folder", "json", "os.path"])
def test_a_model_that_is_not_here_is_refused_and_nothing_downloaded(name: str) -> None:
    with pytest.raises(embeddings.ModelError, match=r"memctl\.semanticModel") as caught:
        embeddings.load(name)
    assert "git config --global memctl.semanticModel" in str(caught.value.hint)


def test_files_that_are_no_model_are_refused(tmp_path: Path) -> None:
    for name in ("model.safetensors", "tokenizer.json"):
        (tmp_path / name).write_text("no model")
    with pytest.raises(embeddings.ModelError, match="can't be used"):
        embeddings.load(str(tmp_path))


def test_without_a_model_in_the_settings_nothing_is_loaded(repo: Path, memctl: Memctl) -> None:
    memctl("learn", "Lantern")
    assert titles(repo, "lamp") == []


def test_a_model_that_is_not_here_is_named_and_words_are_searched(repo: Path, memctl: Memctl) -> None:
    git(repo, "config", "memctl.semanticModel", "no_such_package")
    memctl("learn", "Lantern")
    done = memctl("search", "lantern")
    assert "Lantern" in done.out
    assert done.err.count("memctl downloads no models; the search used only words, not meaning") == 1
    assert memctl("search", "lantern*").err == ""


def test_a_model_that_the_repository_names_is_not_used(repo: Path, memctl: Memctl, model: Path) -> None:
    with (repo / ".memory" / "config.yaml").open("a") as config:
        config.write(f"semantic_model: {model}\n")
    memctl("learn", "Lantern")
    assert memctl("search", "lamp").out == ""


def test_model_in_the_environment_overrides_the_setting(
    repo: Path, memctl: Memctl, model: Path, monkeypatch: Any
) -> None:
    memctl("learn", "Lantern")
    memctl("learn", "Wombat")
    git(repo, "config", "memctl.semanticModel", "no_such_package")
    monkeypatch.setenv("MEMCTL_SEMANTIC_MODEL", str(model))
    assert "Lantern" in memctl("search", "lamp").out


def test_model_with_a_panicking_tokenizer_is_replaced_by_word_search(
    repo_with_model: Path, memctl: Memctl, model: Path
) -> None:
    tokenizer = json.loads((model / "tokenizer.json").read_text())
    tokenizer["pre_tokenizer"] = {
        "type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False
    }  # fmt: skip
    (model / "tokenizer.json").write_text(json.dumps(tokenizer))
    memctl("learn", "Backtracking", "--lesson", "a" * 60 + "b")
    done = memctl("search", "lantern")
    assert "Lantern" in done.out
    assert "the search used only words, not meaning" in done.err
