"""What is built and installed: one import package, whole, and nothing beside it."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
VERSION = SETTINGS["project"]["version"]
FOLDERS = {
    "broodline": ROOT / "src" / "broodline",
    "broodline/actors": ROOT / "actors",
    "broodline/messages": ROOT / "messages",
    "broodline/providers": ROOT / "providers",
    "broodline/supervision": ROOT / "supervision",
}
DATA = {".py", ".typed", ".json"}


def run(*command: object, cwd: Path, path: str | None = None) -> str:
    """Run `command` to its end, away from the checkout's own import path."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    env |= {"PYTHONDONTWRITEBYTECODE": "1"} | ({"PYTHONPATH": path} if path else {})
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def files_of_the_house() -> set[str]:
    """Every file of the five folders that belongs into an installation."""
    found: set[str] = set()
    for package, folder in FOLDERS.items():
        for place, inner, names in os.walk(folder):  # does not follow the links
            inner[:] = [name for name in inner if name != "__pycache__"]
            parts = (package, Path(place).relative_to(folder).as_posix())
            found |= {
                os.path.normpath("/".join((*parts, name)))
                for name in names
                if Path(name).suffix in DATA
            }
    return found


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout: building writes beside the sources."""
    copy = tmp_path_factory.mktemp("tree") / "broodline"
    unwanted = (".git", ".venv", ".cache", "__pycache__", "*.egg-info", "build", "dist")
    shutil.copytree(ROOT, copy, symlinks=True, ignore=shutil.ignore_patterns(*unwanted))
    return copy


@pytest.fixture(scope="module")
def built(tree: Path) -> Path:
    """A folder with the sdist and the wheel that was built from it."""
    run(sys.executable, "-P", "-m", "build", "--no-isolation", "--outdir", "dist", ".", cwd=tree)
    return tree / "dist"


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    """The wheel that was built from the sdist."""
    (found,) = built.glob("*.whl")
    return found


def names_in(wheel: Path) -> set[str]:
    """What a wheel holds, without its own records."""
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def test_wheel_holds_every_module_of_the_folders_and_nothing_else(wheel: Path) -> None:
    """The wheel's file list is that of the door and the four folders."""
    assert names_in(wheel) == files_of_the_house()


def test_wheel_built_from_the_checkout_is_the_same(tree: Path, wheel: Path) -> None:
    """What `pip install .` builds is what is built from the sdist."""
    command = (sys.executable, "-P", "-m", "build", "--no-isolation", "--wheel")
    run(*command, "--outdir", "direct", ".", cwd=tree)
    (direct,) = (tree / "direct").glob("*.whl")
    assert names_in(direct) == names_in(wheel)


def test_a_module_that_is_gone_stays_out_of_the_next_wheel(tree: Path, wheel: Path) -> None:
    """Building again in a used clone takes nothing over from before, and leaves no `build/`."""
    copy = tree.with_name("used")
    shutil.copytree(tree, copy, symlinks=True, ignore=shutil.ignore_patterns("dist", "direct"))
    command = (sys.executable, "-P", "-m", "build", "--no-isolation", "--wheel", "--outdir")
    module = copy / "actors" / "gone_tomorrow.py"
    module.touch()
    run(*command, "first", ".", cwd=copy)
    module.unlink()
    run(*command, "second", ".", cwd=copy)
    (first,), (second,) = (copy / "first").glob("*.whl"), (copy / "second").glob("*.whl")
    assert names_in(first) - names_in(second) == {"broodline/actors/gone_tomorrow.py"}
    assert names_in(second) == names_in(wheel)
    assert not (copy / "build").exists()


def test_sdist_can_be_built_and_read_without_the_checkout(built: Path) -> None:
    """The sdist carries the sources, the licence, the readme and the change log."""
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml"} <= names
    assert {"actors/__init__.py", "messages/__init__.py", "src/broodline/__init__.py"} <= names


def test_every_package_is_listed_by_hand() -> None:
    """A folder with modules is in the list of packages, and a listed one exists."""
    found = {name.rpartition("/")[0].replace("/", ".") for name in files_of_the_house()}
    assert sorted(found) == SETTINGS["tool"]["setuptools"]["packages"]


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with nothing in it, not even pip."""
    place = tmp_path_factory.mktemp("empty")
    run(sys.executable, "-m", "venv", "--without-pip", place / "env", cwd=place)
    return place / "env"


def test_an_installation_is_one_package_that_runs_anywhere(
    empty: Path, wheel: Path, tmp_path: Path
) -> None:
    """Installed alone it adds one name to site-packages; with its needs and no extra all runs."""
    pip = (sys.executable, "-m", "pip", "--quiet", "--python", empty / "bin" / "python", "install")
    run(*pip, "--no-deps", wheel, cwd=tmp_path)
    (packages,) = (empty / "lib").glob("python*/site-packages")
    top = {path.name for path in packages.iterdir()}
    assert top - {"__pycache__"} == {"broodline", f"broodline-{VERSION}.dist-info"}

    run(*pip, wheel, cwd=tmp_path)
    python = empty / "bin" / "python"
    where = run(python, "-c", "import broodline; print(broodline.__file__)", cwd=tmp_path)
    assert Path(where.strip()) == packages / "broodline" / "__init__.py"
    assert VERSION in run(empty / "bin" / "broodline", "--version", cwd=tmp_path)
    assert "demo" in run(empty / "bin" / "broodline", "--help", cwd=tmp_path)
    seen = run(python, "-c", EVERY_MODULE, "broodline.testing", cwd=tmp_path)
    assert "broodline.actors.models.openai.model " in seen


def test_what_is_imported_is_what_is_declared() -> None:
    """Each dependency is imported somewhere, and nothing else is; pydantic brings its core."""
    imported: set[str] = set()
    for name in files_of_the_house():
        if name.endswith(".py") and not name.startswith("broodline/testing/"):
            path = ROOT / "src" / name
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Import):
                    imported |= {alias.name.partition(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                    imported.add(node.module.partition(".")[0])
    declared = names_of(SETTINGS["project"]["dependencies"])
    foreign = imported - sys.stdlib_module_names - {"broodline", "pydantic_core"}
    assert foreign - names_of(EXTRAS) == declared


def test_every_extra_is_in_all_and_in_the_checks() -> None:
    """What an extra brings is what `all` and the development group bring, in the same versions."""
    extras = SETTINGS["project"]["optional-dependencies"]
    assert extras["all"] == [f"broodline[{','.join(name for name in extras if name != 'all')}]"]
    assert set(EXTRAS) <= set(SETTINGS["dependency-groups"]["dev"])


EXTRAS = [
    requirement
    for name, requirements in SETTINGS["project"]["optional-dependencies"].items()
    for requirement in requirements
    if name != "all"
]


def names_of(requirements: list[str]) -> set[str]:
    """The import names of what is required."""
    return {re.split(r"[^\w-]", one, maxsplit=1)[0].replace("-", "_") for one in requirements}


EVERY_MODULE = """
import importlib, pathlib, pkgutil, sys, broodline
passed_over = tuple(sys.argv[1:]) or ("nothing",)
for found in pkgutil.walk_packages(broodline.__path__, "broodline."):
    if found.name.startswith(passed_over):
        continue
    module = importlib.import_module(found.name)
    print(found.name, pathlib.Path(module.__file__).resolve())
"""


@pytest.mark.parametrize("path", [None, str(ROOT / "src")], ids=["editable", "PYTHONPATH"])
def test_the_checkout_is_seen_whole(path: str | None, tmp_path: Path) -> None:
    """An editable installation and `PYTHONPATH=src` see the same modules, in the checkout."""
    lines = run(sys.executable, "-c", EVERY_MODULE, cwd=tmp_path, path=path).splitlines()
    seen = dict(line.split(" ", 1) for line in lines)
    modules = {
        name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for name in files_of_the_house()
        if name.endswith(".py")
    }
    assert set(seen) == modules - {"broodline"}
    assert all(Path(place).is_relative_to(ROOT) for place in seen.values())


def test_the_folders_are_linked_relatively() -> None:
    """The four folders stand in the door as relative links, so that a clone anywhere works."""
    links = {
        path.name: os.readlink(path) for path in FOLDERS["broodline"].iterdir() if path.is_symlink()
    }
    assert links == {
        name: f"../../{name}" for name in ("actors", "messages", "providers", "supervision")
    }
