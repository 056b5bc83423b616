"""The kinds' colours are readable and distinguishable: on light and dark pages, also with colour blindness."""

from __future__ import annotations

import itertools
import tomllib

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.model.changelog import ChangelogMode, RowKind
from tests.ui.conftest import ROOT
from ui.shell.theme import (
    KIND_COLORS,
    KIND_MARKERS,
    ON_COLOR,
    ROLE_COLORS,
    THEMES,
    kind_badge,
    mode_badges,
    pens,
)

THEME = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["theme"]
BACKGROUNDS = [THEME["light"]["backgroundColor"], THEME["dark"]["backgroundColor"]]
# Machado, Oliveira and Fernandes (2009), severity 1.
EYES = {
    "usual": np.eye(3),
    "protanopia": np.array([[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]]),
    "deuteranopia": np.array([[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]),
    "tritanopia": np.array([[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]]),
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(color: str) -> NDArray[np.float64]:
    channels = np.array([int(color[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    dark, light = sorted(float(linear(color) @ TO_XYZ[1]) for color in (one, other))
    return (light + 0.05) / (dark + 0.05)


def lab(channels: NDArray[np.float64]) -> NDArray[np.float64]:
    xyz = TO_XYZ @ np.clip(channels, 0, 1) / np.array([0.9505, 1.0, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("color", [*KIND_COLORS.values(), *ROLE_COLORS.values()])
def test_a_colour_stands_out_on_both_pages(color: str) -> None:
    assert min(contrast(color, background) for background in BACKGROUNDS) >= 3


@pytest.mark.parametrize("color", KIND_COLORS.values())
def test_a_sign_can_be_read_on_its_colour(color: str) -> None:
    assert contrast(color, ON_COLOR) >= 4.5


@pytest.mark.parametrize("eyes", EYES)
def test_kinds_stay_apart_for_everybodys_eyes(eyes: str) -> None:
    seen = {kind: lab(EYES[eyes] @ linear(color)) for kind, color in KIND_COLORS.items()}
    distances = {(a, b): float(np.linalg.norm(seen[a] - seen[b])) for a, b in itertools.combinations(seen, 2)}
    assert min(distances.values()) > 20, distances


def test_no_two_kinds_share_a_marker() -> None:
    assert len(set(KIND_MARKERS.values())) == len(RowKind)


def test_a_mode_is_drawn_with_the_signs_of_its_kinds() -> None:
    mode = ChangelogMode({RowKind.INSERT, RowKind.UPDATE_AFTER, RowKind.DELETE})
    html = mode_badges(mode)
    assert [sign for sign in ("+I", "-U", "+U", "-D") if sign in html] == ["+I", "+U", "-D"]


def test_a_badge_has_the_colour_of_its_kind() -> None:
    assert KIND_COLORS[RowKind.DELETE] in kind_badge(RowKind.DELETE)


@pytest.mark.parametrize("theme", THEMES)
def test_what_is_read_outside_of_the_page_has_its_colours(theme: str) -> None:
    page, told = THEME[theme], THEMES[theme]
    own = ("backgroundColor", "textColor", "secondaryBackgroundColor", "borderColor", "primaryColor")
    assert [told[name] for name in ("background", "text", "second", "border", "primary")] == [
        page[name] for name in own
    ]


@pytest.mark.parametrize("theme", THEMES)
def test_the_words_of_a_picture_are_readable(theme: str) -> None:
    colors = pens()[theme]
    assert all(
        contrast(colors[word], colors[ground]) >= 4.5 for word in ("text", "muted") for ground in ("paper", "card")
    )
