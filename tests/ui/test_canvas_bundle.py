"""The committed bundles of the canvas and of the editor are built from the committed sources."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "ui" / "canvas"
DIST = FOLDER / "changelog_studio_canvas" / "dist"
BUNDLES = ("canvas.js", "editor.js", "picture.js", "shots.js", "commands.js")


def sources() -> list[Path]:
    return [file for file in (FOLDER / "src").rglob("*") if file.is_file()]


def digest_of_the_sources() -> str:
    """The same digest as in `vite.config.js`."""
    names = ["package-lock.json", "package.json", "vite.config.js"]
    names += [file.relative_to(FOLDER).as_posix() for file in sources()]
    digest = hashlib.sha256()
    for name in sorted(names):
        digest.update(f"{name}\0".encode() + (FOLDER / name).read_bytes() + b"\0")
    return digest.hexdigest()[:12]


@pytest.mark.parametrize("bundle", BUNDLES)
def test_a_bundle_carries_the_digest_of_its_sources(bundle: str) -> None:
    built = "the bundle is older than its sources: run `npm ci && npm run build` in ui/canvas"
    assert f'"{digest_of_the_sources()}"' in (DIST / bundle).read_text().replace("`", '"'), built


def test_both_manifests_and_the_installed_package_have_the_version_of_the_sources() -> None:
    wanted = f"1.0.0+s{digest_of_the_sources()}"
    for file in (FOLDER / "pyproject.toml", DIST.parent / "pyproject.toml"):
        assert tomllib.loads(file.read_text())["project"]["version"] == wanted
    assert importlib.metadata.version("changelog-studio-canvas") == wanted


def test_the_lock_file_pins_everything_and_names_no_registry() -> None:
    lock = json.loads((FOLDER / "package-lock.json").read_text())
    packages = {name: entry for name, entry in lock["packages"].items() if name}
    assert packages
    assert all(entry.get("version") and entry.get("integrity") for entry in packages.values())
    assert "http" not in re.sub(r'"(?:url|funding)": [^\n]*', "", (FOLDER / "package-lock.json").read_text())


def test_the_bundle_has_no_colour_of_its_own() -> None:
    """Colours come from the page and `ui/shell/theme.py`; only defaults of React Flow are overridden."""
    for file in sources():
        assert not re.findall(r"#[0-9a-fA-F]{3,8}\b|\brgba?\(|\bhsla?\(", file.read_text()), file.name


@pytest.mark.slow
def test_the_sources_pass_their_checks_and_building_them_again_gives_the_same_bytes(tmp_path: Path) -> None:
    """Needs npm; without it, only the digest of the sources is compared."""
    npm = shutil.which("npm")
    if npm is None:
        test_a_bundle_carries_the_digest_of_its_sources("editor.js")
        return
    copy, cases = tmp_path / "ui" / "canvas", tmp_path / "tests" / "ui" / "gestures.json"
    cases.parent.mkdir(parents=True)
    shutil.copyfile(Path(__file__).parent / "gestures.json", cases)
    shutil.copytree(FOLDER, copy, ignore=shutil.ignore_patterns("node_modules", "build", "*.egg-info"))
    for command in (["ci", "--no-audit", "--no-fund"], ["run", "check"], ["run", "build"]):
        made = subprocess.run([npm, *command], cwd=copy, capture_output=True, text=True, check=False, timeout=300)
        assert made.returncode == 0, made.stdout + made.stderr
    for bundle in BUNDLES:
        assert (copy / "changelog_studio_canvas" / "dist" / bundle).read_bytes() == (DIST / bundle).read_bytes()
