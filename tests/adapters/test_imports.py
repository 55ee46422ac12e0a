"""What the adapter says when its host cannot be imported: the real cause."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"torch": None}, ["'torch'", "pip install 'constrain-decoding[hf]'"]),
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
