"""What an adapter says when its host cannot be imported: the real cause."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (
            {"torch": None, "transformers": "LogitsProcessor = object"},
            ["'torch'", "pip install 'constrain-decoding[hf]'"],
        ),
        ({"torch": "", "transformers": None}, ["'transformers'", "pip install"]),
        ({"torch": "", "transformers": "raise ImportError('libfoo.so: no such file')"}, ["libfoo.so: no such file"]),
        ({"torch": "", "transformers": "Processor = 1"}, ["cannot import name 'LogitsProcessor'"]),
    ],
)
def test_the_cause_of_a_failed_import_is_named(broken, said):
    """Fakes of the host's packages: None is missing, other text is their source."""
    code = f"""
        import importlib.abc, importlib.machinery, sys
        FAKES = {broken!r}
        class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
            def find_spec(self, name, path, target=None):
                if name in FAKES and FAKES[name] is not None:
                    return importlib.machinery.ModuleSpec(name, self)
                if name.partition(".")[0] in FAKES:
                    raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
            def exec_module(self, module):
                exec(FAKES[module.__name__], module.__dict__)
        sys.meta_path.insert(0, Finder())
        try:
            import constrain.adapters.transformers
        except ImportError as error:
            print(error, "<-", type(error.__cause__).__name__)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    assert all(part in done.stdout for part in said), done.stdout + done.stderr
    assert ("pip install" in done.stdout) == ("ModuleNotFoundError" in done.stdout)


HOSTS = {
    "vllm": (["torch", "vllm"], "pip install vllm"),
    "sglang": (["torch", "sglang"], "pip install sglang"),
    "tensorrt_llm": (["tensorrt_llm"], "install TensorRT-LLM"),
    "llama_cpp": (["llama_cpp"], "pip install llama-cpp-python"),
    "mlx_lm": (["mlx", "mlx_lm"], "pip install mlx-lm"),
    "outlines": (["outlines"], "pip install outlines"),
}


def test_every_adapter_names_its_host():
    """All of them in one process, in which no host is there; and the package itself needs none."""
    code = f"""
        import importlib, sys
        class Finder:
            def find_spec(self, name, path, target=None):
                if name.partition(".")[0] in {[part for parts, _ in HOSTS.values() for part in parts]!r}:
                    raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
        sys.meta_path.insert(0, Finder())
        import constrain.adapters
        for name in {list(HOSTS)!r}:
            try:
                importlib.import_module(f"constrain.adapters.{{name}}")
            except ImportError as error:
                print(name, "|", error)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    said = dict(line.split(" | ", 1) for line in done.stdout.splitlines())
    assert list(said) == list(HOSTS), done.stderr
    for name, (parts, advice) in HOSTS.items():
        assert f"constrain.adapters.{name} needs" in said[name] and advice in said[name]
        assert any(f"'{part}" in said[name] for part in parts)


def test_entry_points_name_what_is_there():
    """What vLLM finds of this package, by its metadata."""
    from pathlib import Path

    tomllib = pytest.importorskip("tomllib")
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    for group, names in project["entry-points"].items():
        assert group.startswith("vllm.")
        for value in names.values():
            module, _, attribute = value.partition(":")
            source = Path(__file__).parents[2] / (module.replace(".", "/") + ".py")
            assert f" {attribute}(" in source.read_text()
