"""The layout of a page: the bar above every page, the workbench that fills the window, a presented page.

All of the studio's CSS that places Streamlit's containers is here. It selects a container by its key.
"""

from __future__ import annotations

from typing import Final

import streamlit as st

_READABLE: Final = """
<style>
/* Streamlit's own is 4.2 : 1, too faint for text of this size: text colour at an opacity of 0.6. */
:is([data-testid="stCaptionContainer"], [data-testid="stSliderTickBar"]) {
  color: color-mix(in srgb, var(--ink) 74%, transparent); opacity: 1; }
[data-testid="stSliderTickBar"] * { color: inherit; }
/* The accent carries white text, which leaves it 3.9 : 1 on dark paper: what is written in it is nearer to the ink. */
:is([data-testid="stButtonGroup"] button[data-selected="true"], [data-testid="stSliderThumbValue"]) p,
:is([data-testid^="stBaseButton-secondary"], [data-testid^="stBaseButton-tertiary"]):is(:hover, :active) p {
  color: color-mix(in srgb, var(--accent) 65%, var(--ink));
}
[data-testid="stSlider"] :has(> [data-testid="stSliderThumbValue"]) {
  background: light-dark(var(--accent), color-mix(in srgb, var(--accent) 65%, var(--ink)));
}
[data-testid="stSlider"] [data-orientation] > div:first-child:not([data-rac]) {
  background-color: light-dark(transparent, #2a3560); background-blend-mode: screen;
}
/* Streamlit marks a link that has the focus by a grey of 1.1 : 1. */
[data-testid="stPageLink"] a:focus-visible { outline: 2px solid var(--accent); outline-offset: -2px; }
/* All formats of files, also where they need two lines. */
.st-key-drop [data-testid="stFileUploaderDropzone"] * { white-space: normal !important; overflow: visible; }
kbd { color: inherit !important; opacity: 1 !important; }
</style>
"""

TOP_BAR: Final = """
<style>
:root { --bar: 3rem; --hair: color-mix(in srgb, currentColor 14%, transparent); }
.st-key-top-bar {
  position: fixed; inset: 0 0 auto 0; z-index: 999991; height: var(--bar); width: auto !important;
  padding: 0 2.6rem 0 .8rem; background: var(--paper); border-bottom: 1px solid var(--hair);
}
[data-testid="stHeader"] { height: var(--bar); min-height: var(--bar); background: transparent; }
[data-testid="stMainBlockContainer"] { padding-top: calc(var(--bar) + 1.4rem); }
.st-key-top-bar [data-testid="stPageLink"] a, .st-key-inspect-pages [data-testid="stPageLink"] a {
  min-height: 2rem; padding: .1rem .55rem; gap: .35rem; border-radius: .4rem; white-space: nowrap;
}
[data-testid="stLayoutWrapper"]:has(> :is(.st-key-run-edge, .st-key-bench-run)) { flex: 1 1 0; min-width: 0; }
.st-key-run-edge { min-width: 0; justify-content: flex-end; }
.st-key-places { overflow: visible; }
/* A list is as wide as its box; in a row of three columns it would be unreadable. */
[data-testid="stSelectboxVirtualDropdown"] { min-width: 9.7rem; }
.st-key-run-edge [data-testid="stElementContainer"]:has([data-testid="stSelectbox"]) { flex: 0 1 15rem; min-width: 0; }
.st-key-run-edge [data-testid="stSelectbox"] { min-width: 0; }
.st-key-run-edge [role="group"] { min-height: 2rem; height: 2rem; }
.st-key-run-edge input { font-size: .87rem; text-overflow: ellipsis; padding-right: 0; }
.run-edge-event { white-space: nowrap; font-size: .87rem; color: color-mix(in srgb, currentColor 74%, transparent); }
.st-key-page-tools button { min-height: 2rem; padding: 0 .5rem; }
/* Over the page, so that nothing moves when it goes. */
.st-key-engine-note {
  position: fixed; bottom: .6rem; left: 50%; translate: -50%; z-index: 999990; width: auto !important;
  pointer-events: none;
  padding: .3rem .9rem; border: 1px solid var(--hair); border-radius: 1rem; background: var(--paper);
}
.st-key-inspect-pages { margin: -.6rem 0 0; padding-bottom: .3rem; border-bottom: 1px solid var(--hair); }
/* On narrow screens, places keep their names and tools keep their icons. */
@media (max-width: 1300px) {
  .st-key-places a > span:first-child:not(:last-child) { display: none; }
  .st-key-page-tools button p { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .st-key-bench-bar kbd { display: none; }
}
/* A phone: the open run and edge have a line of their own. */
@media (max-width: 900px) {
  :root { --bar: 5.4rem; }
  .st-key-top-bar { flex-wrap: wrap !important; align-content: center; padding: .1rem .5rem; row-gap: 0 !important; }
  [data-testid="stLayoutWrapper"]:has(> .st-key-run-edge) { order: 3; flex: 1 0 100%; }
  .st-key-run-edge { justify-content: flex-start; }
  .st-key-places a { padding: .1rem .3rem !important; }
  .st-key-places a p { font-size: .87rem; }
}
@media (max-width: 520px) {
  :root { --bar: 7.1rem; }
}
</style>
"""

WORKBENCH: Final = """
<style>
[data-testid="stMain"] { overflow: hidden; }
[data-testid="stMainBlockContainer"] {
  height: 100dvh; max-width: none; padding: var(--bar) 0 0; display: flex; flex-direction: column;
}
[data-testid="stMainBlockContainer"] > [data-testid="stVerticalBlock"] { flex: 1; min-height: 0; gap: 0; }
[data-testid="stLayoutWrapper"]:has(> .st-key-workbench) { flex: 1 1 0; min-height: 0; }
.st-key-story { margin: .4rem .8rem; width: auto !important; }
.st-key-workbench {
  height: 100%; display: grid !important; gap: 0 !important;
  grid-template: auto minmax(0, 1fr) auto / minmax(0, 1fr) auto;
  grid-template-areas: "bar bar" "canvas canvas" "drawer panel";
}
.st-key-workbench > * { min-width: 0; min-height: 0; align-self: stretch; justify-self: stretch; }
.st-key-workbench > :has(> .st-key-bench-bar) { grid-area: bar; }
/* Over the canvas, so that nothing moves when a note comes or goes; beside the form. */
.st-key-workbench > :has(> .st-key-bench-notes) { grid-area: 2 / 1 / 3 / 2; place-self: end center; z-index: 6;
  width: auto; max-width: min(90%, 56rem); margin-bottom: 1.6rem; }
.st-key-workbench > :has(> .st-key-bench-canvas) { grid-area: canvas; }
/* The form lies over the canvas, and beside the drawer. */
.st-key-workbench > :has(> .st-key-bench-panel) { grid-area: 2 / 2 / 4 / 3; z-index: 7; background: var(--paper);
  box-shadow: -6px 0 24px color-mix(in srgb, black 14%, transparent); }
.st-key-workbench > :has(> .st-key-bench-drawer) { grid-area: drawer; }

.st-key-bench-bar { padding: .3rem .6rem; height: 2.8rem; border-bottom: 1px solid var(--hair); flex-wrap: nowrap; }
.st-key-bench-bar :is(button, input, [data-testid="stTextInputRootElement"], [role="group"])
  { min-height: 2rem; height: 2rem; }
.st-key-bench-bar button { padding: 0 .6rem; white-space: nowrap; }
.st-key-bench-run { min-width: 0; overflow: hidden; justify-content: center; }
.st-key-bench-run > :has([data-testid="stCaptionContainer"]) { flex: 0 1 auto; min-width: 0; }
.st-key-bench-run p { white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.st-key-bench-notes { padding: .4rem .9rem; max-height: 30dvh; overflow: auto; gap: .4rem; width: auto !important;
  border: 1px solid var(--hair); border-radius: .5rem; background: var(--paper); }
.st-key-bench-notes:empty { display: none; }

/* What they hold does not make them larger. */
.st-key-workbench > :has(> :is(.st-key-bench-canvas, .st-key-bench-panel)) { position: relative; }
.st-key-bench-canvas, .st-key-bench-panel { position: absolute; inset: 0; width: auto !important; }
.st-key-bench-canvas * { height: 100% !important; min-height: 0; }
.st-key-workbench > :has(> .st-key-bench-panel) { width: clamp(17rem, var(--panel-width, 22rem), 60vw); }

.st-key-bench-panel {
  overflow: hidden auto; padding: .5rem .9rem 1.5rem 1.1rem; border-left: 1px solid var(--hair); gap: .7rem;
}
/* A long form scrolls; its fields do not shrink. */
.st-key-bench-panel > * { flex-shrink: 0; }
.st-key-bench-panel-head { position: sticky; top: -.5rem; z-index: 5; margin: -.5rem 0 0; padding: .35rem 0 .2rem;
  background: var(--paper); }
.st-key-bench-panel-head button { min-height: 1.9rem; padding: 0 .35rem; }
:is(.st-key-bench-panel-head, .st-key-canvas-run, [class*="st-key-canvas-live"], [class*="st-key-drawer-to"]) button p
  { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
[data-testid="stElementContainer"]:has(> .st-key-panel-grip), .st-key-panel-grip {
  position: absolute !important; inset: 0 auto 0 0; width: .6rem !important; height: 100%; z-index: 6; }

/* In a row of three even COUNT has to fit. */
.st-key-bench-panel [data-testid="stColumn"] [data-testid="stSelectbox"] input { padding: 0 0 0 .45rem; }
.st-key-bench-panel [data-testid="stColumn"] [data-testid="stSelectbox"] button { padding: 0; width: 1.5rem; }
.st-key-bench-panel [data-testid="stColumn"] [data-testid="stSelectbox"] input { text-overflow: ellipsis; }
/* Two buttons in what is left of a row: their signs say enough. */
.st-key-bench-panel [data-testid="stColumn"] :is([data-testid="stPopoverButton"], [data-testid="stMenuButtonButton"])
  [aria-hidden="true"]:has([data-testid="stIconMaterial"]) { display: none; }
.st-key-bench-panel [data-testid="stColumn"] ::placeholder { font-size: .8rem; }

.st-key-bench-drawer { border-top: 1px solid var(--hair); background: var(--paper); gap: 0; }
[data-testid="stElementContainer"]:has(> .st-key-drawer-grip), .st-key-drawer-grip {
  position: absolute !important; inset: 0 0 auto 0; width: 100% !important; height: .5rem; z-index: 6; }
/* The same below a fragment, which has a block of its own. */
.st-key-bench-drawer [data-testid="stVerticalBlock"]:has(> [data-testid="stLayoutWrapper"] > .st-key-drawer-head)
  { gap: 0; }
.st-key-drawer-head { position: relative; padding: .2rem .6rem; flex-wrap: nowrap; min-height: 2.5rem; }
.st-key-drawer-head button { min-height: 1.9rem; padding: 0 .55rem; white-space: nowrap; }
.st-key-drawer-half, .st-key-drawer-full { flex: none !important; overflow: auto; padding: 0 .8rem 1rem; gap: .4rem; }
.st-key-drawer-half {
  --half: clamp(6rem, var(--drawer-height, clamp(11rem, 36dvh, 26rem)), 100dvh - var(--bar) - 14rem);
  height: var(--half);
}
.st-key-drawer-half .studio-editor:not(.is-line) { --height: max(8rem, var(--half) - 7rem) !important; }
.st-key-drawer-full { height: calc(100dvh - var(--bar) - 5.6rem); }
/* Nothing is left of the canvas but a line. */
.st-key-workbench:has(.st-key-drawer-full) .st-key-bench-canvas { visibility: hidden; }
.st-key-drawer-full .studio-editor { --height: calc(100dvh - var(--bar) - 13rem) !important; }

/* A phone: one below the other, and the page scrolls. */
@media (max-width: 900px) {
  .st-key-bench-panel { position: static; }
  .st-key-workbench > :has(> .st-key-bench-panel) { width: 100%; }
  [data-testid="stMain"] { overflow: auto; }
  [data-testid="stMainBlockContainer"] { height: auto; }
  .st-key-workbench { display: flex !important; flex-direction: column; height: auto; }
  .st-key-workbench > :has(> .st-key-bench-canvas) { height: 58dvh; flex: none; }
  .st-key-bench-panel { border-left: 0; border-top: 1px solid var(--hair); }
  .st-key-bench-bar, .st-key-drawer-head { flex-wrap: wrap !important; height: auto; }
  .st-key-drawer-half, .st-key-drawer-full { height: auto; }
}
</style>
"""

# The form of a story stands beside the page; on narrow screens it is below the bar, and the page below it.
BESIDE: Final = """
<style>
@media (min-width: 901px) {
  [data-testid="stMainBlockContainer"] { padding-right: 21.5rem !important; }
  [data-testid="stLayoutWrapper"]:has(> .st-key-story-form) { position: absolute; }
  .st-key-story-form { position: fixed !important; inset: var(--bar) 0 0 auto; width: 20rem !important; z-index: 95;
    overflow: hidden auto; border-left: 1px solid var(--hair); }
}
.st-key-story-form { background: var(--paper); padding: .6rem .9rem 1.5rem; flex-wrap: nowrap; }
.st-key-story-form > * { flex: none; }
.st-key-story-form-head button { min-height: 1.9rem; padding: 0 .35rem; }
:is(.st-key-story-form-head, [class*="st-key-story-step"] [data-testid="stHorizontalBlock"]) button p
  { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
[class*="st-key-story-open"] :is(button, button *) { justify-content: flex-start; text-align: left; }
[class*="st-key-story-open"] [data-testid="stMarkdownContainer"] { width: 100%; }
[class*="st-key-story-open"] button { min-height: 0; padding: .15rem 0; }
[class*="st-key-story-step"] { border-left: 2px solid transparent; padding-left: .5rem; }
[class*="st-key-story-step"][class*="-open"] { border-left-color: var(--accent); }
</style>
"""

# Large text and only the page itself. The font size scales everything else, since charts do not fit when zoomed.
# Controls stay small. The story is one line at the bottom; player and tools are their signs.
PRESENTED: Final = """
<style>
:root { --bar: 0rem; --side: 3.2rem; --hair: color-mix(in srgb, currentColor 14%, transparent); }
[data-testid="stHeader"], [data-testid="stToolbar"], [data-testid="stStatusWidget"], .st-key-engine-note
  { display: none !important; }
[data-testid="stMainBlockContainer"] { padding: 1.5rem var(--side) 0; max-width: none; min-height: 100dvh; }
html { font-size: 20px !important; }
[data-testid="stMainBlockContainer"] :is(.stButton, .stDownloadButton, .stSelectbox, .stTextInput, .stNumberInput,
  .stMultiSelect, .stButtonGroup, .stCheckbox, .stPopover) { zoom: .8; }
.st-key-page-tools { position: fixed; top: .2rem; right: .2rem; z-index: 1000001; width: auto !important;
  align-items: center; }
.st-key-page-tools .stElementContainer { width: auto; }
.st-key-page-tools:not(:hover, :focus-within) > :not(.st-key-presenting, .st-key-glossary) { opacity: .45; }
/* Without what they open. */
.st-key-page-tools:not(:hover, :focus-within) > .st-key-glossary
  { color: color-mix(in srgb, var(--ink) 45%, transparent); }
.st-key-page-tools button { min-height: 2rem; padding: 0 .4rem; border-color: transparent; background: transparent; }
:is(.st-key-page-tools, .st-key-event-bar, .st-key-event-jumps, .st-key-story) button
  [data-testid="stMarkdownContainer"] { position: absolute; width: 1px; height: 1px; overflow: hidden;
  clip-path: inset(50%); }

[data-testid="stMainBlockContainer"] > [data-testid="stVerticalBlock"] { min-height: calc(100dvh - 1.5rem); }
[data-testid="stLayoutWrapper"]:has(> .st-key-story) { order: 99; flex: none; position: sticky; bottom: 0; z-index: 95;
  margin: auto calc(-1 * var(--side)) 0; width: calc(100% + 2 * var(--side)); max-width: none; }
.st-key-story { flex-direction: row; align-items: center; flex-wrap: nowrap; gap: .8rem; width: 100% !important;
  margin: 0; padding: .3rem .8rem; background: var(--paper); border-top: 1px solid var(--hair); }
[data-testid="stLayoutWrapper"]:has(> .st-key-story-told) { flex: 1; min-width: 0; }
.st-key-story-told { max-height: 30dvh; overflow: auto; gap: 0 !important; }
:is(.st-key-story-told, .st-key-stage-head) p { font-size: .85rem; line-height: 1.35; margin: 0; }
:is(.st-key-story-told, .st-key-stage-head) [data-testid="stMarkdownContainer"] { margin: 0; }
[data-testid="stLayoutWrapper"]:has(> .st-key-story-steps) { flex: none; width: auto; }
.st-key-story-steps { flex-wrap: nowrap; width: auto !important; gap: .3rem !important; }
.st-key-story-steps p { white-space: nowrap; }
.st-key-story-steps kbd, .st-key-page-tools kbd { display: none; }
.st-key-workbench > :has(> .st-key-bench-canvas) { height: 100dvh !important; }

.st-key-event-bar { align-items: center; flex-wrap: nowrap; min-width: 0; gap: .3rem !important; }
.st-key-event-bar [data-testid="stElementContainer"]:has([data-testid="stNumberInput"]) { display: none; }
.st-key-event-bar [data-testid="stSlider"] { padding-top: .5rem; }
/* The line is too low for the numbers at its ends. */
.st-key-event-bar [data-testid="stSliderTickBar"] { display: none; }
.st-key-event-bar [data-testid="stSlider"] label { position: absolute; width: 1px; height: 1px; overflow: hidden;
  clip-path: inset(50%); }
/* A phone: less room at the sides, and a line for the words of a story. */
@media (max-width: 600px) {
  :root { --side: .9rem; }
  .st-key-story { flex-wrap: wrap; gap: .2rem; justify-content: center; }
  [data-testid="stLayoutWrapper"]:has(> .st-key-story-told) { flex: 1 0 100%; }
}
</style>
"""

# A presentation that is the graph, or another part of Time travel: the summary above it, the player below it.
STAGE: Final = """
<style>
:root { --side: 0rem !important; }
[data-testid="stMain"] { overflow: hidden; }
[data-testid="stMainBlockContainer"] { height: 100dvh; padding: 0; display: flex; flex-direction: column; }
[data-testid="stMainBlockContainer"] > [data-testid="stVerticalBlock"] { flex: 1; min-height: 0; gap: 0; }
[data-testid="stLayoutWrapper"]:has(> .st-key-stage-head) { order: -1; flex: none; }
.st-key-stage-head { padding: .2rem 14.6rem .2rem .8rem; flex-wrap: nowrap; }
.st-key-stage-head > :has([data-testid="stMarkdownContainer"]) { flex: 1; min-width: 0; }
.st-key-stage-head > :has([data-testid="stButtonGroup"]) { flex: none; width: auto; }
[data-testid="stLayoutWrapper"]:has(> [class*="st-key-stage-"]:not(.st-key-stage-head)) { flex: 1 1 0; min-height: 0; }
[class*="st-key-stage-"]:not(.st-key-stage-head, .st-key-stage-graph) { padding: 0 .8rem; overflow: auto; }
[class*="st-key-stage-"]:not(.st-key-stage-head) { height: 100%; }
.st-key-stage-graph * { min-height: 0; }
.st-key-stage-graph > * { height: 100% !important; }
[data-testid="stLayoutWrapper"]:has(> .st-key-time-player) { order: 98; flex: none; }
.st-key-time-player { flex-direction: row; flex-wrap: nowrap; align-items: center; padding: .1rem .8rem;
  border-top: 1px solid var(--hair); }
[data-testid="stLayoutWrapper"]:has(> .st-key-event-bar) { flex: 1; min-width: 0; }
[data-testid="stLayoutWrapper"]:has(> .st-key-event-jumps) { flex: none; width: auto; }
.st-key-event-jumps { flex-wrap: nowrap; width: auto !important; gap: .3rem !important; }
@media (max-width: 900px) {
  .st-key-stage-head { flex-wrap: wrap; padding-right: .8rem; padding-top: 2.2rem; }
}
/* A phone: the summary, the player and the jumps have a line each. */
@media (max-width: 600px) {
  .st-key-stage-head > :has([data-testid="stMarkdownContainer"]) { flex: 1 0 100%; }
  .st-key-stage-head [data-testid="stMarkdown"] p { max-height: 5.6em; overflow: auto; }
  .st-key-time-player { flex-wrap: wrap; justify-content: center; }
  [data-testid="stLayoutWrapper"]:has(> .st-key-event-bar) { flex: 1 0 100%; }
}
</style>
"""

# Without controls: they cannot be seen or reached, but they are there for their keys.
BARE: Final = """
<style>
:is(.st-key-story, .st-key-time-player, .st-key-event-bar, [data-testid="stButtonGroup"],
  .st-key-page-tools > :not(:has(.st-key-present-bare))) { visibility: hidden; position: absolute !important;
  height: 0 !important; overflow: hidden; padding: 0 !important; border: 0; }
.st-key-page-tools:not(:hover, :focus-within) > :not(.st-key-presenting, .st-key-glossary) { opacity: .2; }
</style>
"""


def presented(*, is_bare: bool) -> str:
    """The CSS of a presented page. is_bare: without its controls."""
    return colors() + PRESENTED + (BARE if is_bare else "")


def colors() -> str:
    """The colours of the theme, as the variables that the CSS above uses, and what is readable only with them."""
    both = {
        name: ", ".join(str(st.get_option(f"theme.{theme}.{option}")) for theme in ("light", "dark"))
        for name, option in (("paper", "backgroundColor"), ("ink", "textColor"), ("accent", "primaryColor"))
    }
    return (
        "<style>:root {"
        + "".join(f"--{name}: light-dark({pair});" for name, pair in both.items())
        + "}</style>"
        + _READABLE
    )


def marked(key: str) -> str:
    """The CSS that marks the link to the current page."""
    return f"""
<style>
.st-key-{key} a {{ background: color-mix(in srgb, var(--accent) 13%, transparent) !important; }}
.st-key-{key} a p {{ font-weight: 600; }}
</style>
"""
