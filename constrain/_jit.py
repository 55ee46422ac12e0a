"""The one numba decorator of the package, with an on-disk cache that is safe to ship.

numba's own `cache=True` fails in four ways that a library cannot accept: importing raises when nothing is writable, a
change in a callee or constant of another module leaves stale machine code, a damaged file raises at the call, and code
compiled with and without NUMBA_BOUNDSCHECK is mixed up. Here

- the cache lives in a folder named after a *stamp*: a hash of the modules with kernels and of all they import from the
  package, of numba's version and of NUMBA_BOUNDSCHECK. An edit there starts a new folder; the three youngest are kept;
- the folder is the first usable of CONSTRAIN_CACHE_DIR, NUMBA_CACHE_DIR, the package's `__pycache__` and the user's
  cache folder. Without any, kernels compile in memory;
- a damaged entry means a warning and a fresh compilation; a failed write means nothing;
- an entry is used only if its signature is the one asked for, so that processes which compile at once (and may take the
  same file name in numba's index) never run each other's code.

Only modules that define kernels import this one, and only decorating imports numba: `import constrain` stays free of
it. NUMBA_DISABLE_JIT=1 gives plain Python functions.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, overload

from constrain import _cache
from constrain._parts import part_compiler

__all__ = ["cache_dir", "compile_beside", "jit", "native"]

_PACKAGE = Path(__file__).resolve().parent
_PREFIX = "constrain-numba-"
_KEPT_STAMPS = 3
_CHILD = "CONSTRAIN_COMPILES_BESIDE"
_PATIENCE = 300  # seconds

F = TypeVar("F", bound=Callable[..., Any])


@overload
def jit(func: F) -> F: ...
@overload
def jit(*, signature: Any = None, eager: bool = True, **options: Any) -> Callable[[F], F]: ...
def jit(func: Any = None, *, signature: Any = None, eager: bool = True, **options: Any) -> Any:
    """Compile a function with numba: no Python objects, no GIL, C division, cached on disk.

    signature: the one numba signature of the function; other argument types are then a TypeError, or converted when
               another kernel calls. None compiles on the first call for the types met.
    eager:     compile (or load) the signature at decoration; else when another kernel that is compiled first calls it.
    options:   passed to `numba.njit`.
    """
    if func is None:
        return functools.partial(jit, signature=signature, eager=eager, **options)

    import numba

    if numba.config.DISABLE_JIT:
        return func
    if not eager:
        # never called from Python: no wrappers, and nothing to keep, since it is a part of what calls it
        options |= {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "pipeline_class": part_compiler()}
    dispatcher = numba.njit(nogil=True, error_model="numpy", **options)(func)
    cache = _make_cache(func) if eager else None
    if cache is not None:
        dispatcher._cache = cache
    if signature is not None and eager:
        dispatcher.compile(signature)
        dispatcher.disable_compile()
    elif signature is not None:
        _compile_when_called(dispatcher, signature)
    return dispatcher


def native(func: Callable[..., Any], signature: Any) -> Any:
    """Compile a function of plain numbers to native code with a C interface, cached like `jit`.

    Other kernels can call its `address` without it becoming part of them, which would compile it again into each.
    NUMBA_DISABLE_JIT=1: None.
    """
    import numba

    if numba.config.DISABLE_JIT:
        return None
    from numba.core.ccallback import CFunc

    compiled: Any = CFunc(func, (signature.args, signature.return_type), {}, {"nopython": True, "error_model": "numpy"})
    cache = _make_cache(func)
    if cache is not None:
        compiled._cache = cache
    compiled.compile()
    return compiled


def compile_beside(module: str, source: str) -> Callable[[], None]:
    """Let a second process import `module`, and so compile its kernels into the cache, while this one compiles others.

    source: the module whose functions it compiles. Returns what waits for the process. Does nothing when their code is
    cached, or nothing can be, or there is one processor.
    """
    import numba

    directory = None if numba.config.DISABLE_JIT else cache_dir()
    idle = directory is None or not sys.executable or (os.cpu_count() or 1) < 2 or _CHILD in os.environ
    if idle or any(True for _ in directory.glob(f"*-{source}-*.nbc")):  # type: ignore[union-attr]
        return lambda: None
    environment = {**os.environ, _CHILD: "1", "PYTHONPATH": os.pathsep.join([str(_PACKAGE.parent), *sys.path])}
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    try:
        child = subprocess.Popen([sys.executable, "-c", f"import {module}"], env=environment, **quiet)  # type: ignore[call-overload]
    except OSError:
        return lambda: None

    def wait() -> None:
        # whatever the child could not do is done here
        with suppress(subprocess.TimeoutExpired):
            child.wait(timeout=_PATIENCE)

    return wait


def _compile_when_called(dispatcher: Any, signature: Any) -> None:
    """Have the dispatcher compile `signature`, and nothing else, when a caller first looks for a version of it."""
    look_up = dispatcher.get_call_template

    def get_call_template(arguments: Any, keywords: Any) -> Any:
        if not dispatcher.signatures:
            dispatcher.compile(signature)
            dispatcher.disable_compile()
        return look_up(arguments, keywords)

    dispatcher.get_call_template = get_call_template


@functools.cache
def cache_dir() -> Path | None:
    """The folder of compiled kernels in this process, or None when nothing can be stored."""
    stamp = _stamp()
    if stamp is None:
        return None
    bases = _cache.configured_dirs()
    if named := os.environ.get("NUMBA_CACHE_DIR"):
        bases.append(Path(named))
    bases.append(_PACKAGE / "__pycache__")
    if (user := _cache.user_cache_dir()) is not None:
        bases.append(user)
    found = _cache.usable_dir(bases, _PREFIX + stamp)
    if found is not None:
        try:
            os.utime(found)
        except OSError:
            return found  # read-only: nothing to prune either
        _cache.prune(found.parent, _PREFIX + "*", _KEPT_STAMPS)
    return found


def _stamp() -> str | None:
    """Hash of all that compiled code depends on, or None when the sources cannot be read (a zip, for example)."""
    import numba

    digest = hashlib.sha256(f"{numba.__version__} boundscheck={numba.config.BOUNDSCHECK!r}".encode())
    try:
        sources = {path: path.read_bytes() for path in sorted(_PACKAGE.rglob("*.py"))}
    except OSError:
        return None
    for path in _kernel_sources(sources):
        digest.update(f"\0{path.relative_to(_PACKAGE).as_posix()}\0{len(sources[path])}\0".encode())
        digest.update(sources[path])
    return digest.hexdigest()[:20] if sources else None


def _kernel_sources(sources: dict[Path, bytes]) -> list[Path]:
    """The modules that define kernels, and all modules of the package that they import, directly or not."""
    found: set[Path] = set()
    public = _PACKAGE / "__init__.py"  # names for users; no kernel takes anything from there
    todo = [path for path, text in sources.items() if re.search(rb"^\s*@(jit|kernel)\b", text, re.MULTILINE)]
    while todo:
        path = todo.pop()
        if path in found:
            continue
        found.add(path)
        for dots, name in re.findall(rb"^\s*from (\.+|constrain\b)(\S*) import", sources[path], re.MULTILINE):
            base = _PACKAGE if dots == b"constrain" else path.parents[len(dots) - 1]
            stem = base.joinpath(*name.decode().strip(".").split(".")) if name.strip(b".") else base
            todo += [p for p in (stem.with_suffix(".py"), stem / "__init__.py") if p in sources and p != public]
    return sorted(found)


def _make_cache(func: Callable[..., Any]) -> Any:
    """A cache for `func`, or None: without a folder, and for functions outside the package, which no stamp covers."""
    file = Path(func.__code__.co_filename)
    if not file.is_absolute() or _PACKAGE not in file.resolve().parents:
        return None
    directory = cache_dir()
    if directory is None:
        return None
    try:
        return _cache_class()(func, directory)
    except Exception as error:  # numba's caching classes are not a public interface
        _warn_once(f"kernels are not cached on disk with this version of numba ({type(error).__name__}: {error})")
        return None


@functools.cache
def _warn_once(message: str) -> None:
    warnings.warn(message, RuntimeWarning, stacklevel=2)


@functools.cache
def _cache_class() -> type:
    """Subclass numba's function cache; built on demand because it needs numba."""
    from numba.core import caching, sigutils

    class Locator(caching._CacheLocator):
        def __init__(self, func: Callable[..., Any], directory: Path) -> None:
            self._py_file = func.__code__.co_filename
            self._directory = directory
            module = func.__module__.replace("<", "").replace(">", "")
            self._disambiguator = f"{module}-{func.__code__.co_firstlineno}"

        def get_cache_path(self) -> str:
            return str(self._directory)

        def get_source_stamp(self) -> str:
            return self._directory.name

        def get_disambiguator(self) -> str:
            return self._disambiguator

        @classmethod
        def from_function(cls, py_func: Any, py_file: Any) -> None:
            return None  # numba's search for a locator is not used

    class Impl(caching.CompileResultCacheImpl):
        def __init__(self, func: Callable[..., Any], directory: Path) -> None:
            self._lineno = func.__code__.co_firstlineno
            self._locator = Locator(func, directory)
            self._filename_base = self.get_filename_base(func.__qualname__, getattr(sys, "abiflags", ""))

    class FunctionCache(caching.FunctionCache):
        def __init__(self, func: Callable[..., Any], directory: Path) -> None:
            self._name = repr(func)
            self._py_func = func
            self._impl = Impl(func, directory)
            self._cache_path = str(directory)
            self._cache_file = caching.IndexDataCacheFile(
                cache_path=self._cache_path,
                filename_base=self._impl.filename_base,
                source_stamp=self._impl.locator.get_source_stamp(),
            )
            self.enable()

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            try:
                found = super().load_overload(sig, target_context)
                if found is not None and tuple(found.signature.args) != tuple(sigutils.normalize_signature(sig)[0]):
                    return None
            except Exception as error:
                reason = f"{type(error).__name__}: {error}"
                warnings.warn(
                    f"compiled code of {self._py_func.__qualname__} in {self._cache_path} is damaged ({reason}); "
                    "compiling it again",
                    RuntimeWarning,
                    stacklevel=2,
                )
                with suppress(Exception):
                    self.flush()
                return None
            return found

        def save_overload(self, sig: Any, data: Any) -> None:
            with suppress(Exception):
                super().save_overload(sig, data)

    return FunctionCache
