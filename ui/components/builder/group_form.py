"""The selected group: its name, what is in it, folding, and taking it away."""

from __future__ import annotations

import streamlit as st

from engine.model.pipeline import Group
from ui.builder.drafting import Drafting
from ui.builder.grouping import PREFIX, folded, members, renamed_group, ungrouped
from ui.shell.guard import guarded
from ui.shell.pending import pending
from ui.shell.words import count, escaped


def group_actions(drafting: Drafting, group: Group) -> None:
    """Draw the actions of a group, within a row."""
    for title, icon, act, help_ in (
        ("Open" if group.folded else "Fold", "unfold_more" if group.folded else "unfold_less", _fold, "G"),
        ("Ungroup", "ungroup", _ungroup, "Ctrl+Shift+G. The nodes stay."),
    ):
        st.button(
            title,
            key=f"{title}|{drafting.key}|{PREFIX}{group.name}",
            icon=f":material/{icon}:",
            type="tertiary",
            on_click=guarded(act),
            args=(drafting, group),
            help=help_,
        )


def group_form(drafting: Drafting, group: Group) -> None:
    """Draw the name and the nodes of a group."""
    pipeline = drafting.pipeline

    def take(typed: str) -> None:
        if typed.strip() == group.name or all(other.name != group.name for other in drafting.pipeline.groups):
            return
        drafting.edit(renamed_group(drafting.pipeline, group.name, typed))
        drafting.selection = f"{PREFIX}{typed.strip()}"

    key = f"group|{drafting.key}|{group.name}"
    pending().draw(key, group.name, take)
    st.text_input("Name of the group", group.name, key=key)
    inside = members(pipeline, group.name)
    st.caption(f"{count(len(inside), 'node')}: {', '.join(map(escaped, inside))}")
    if group.inside:
        st.caption(f"In the group {escaped(group.inside)}.")
    st.caption("A group is how nodes are drawn. The pipeline does the same without it.")


def _fold(drafting: Drafting, group: Group) -> None:
    drafting.edit(folded(drafting.pipeline, {group.name: not group.folded}), redraw=False)


def _ungroup(drafting: Drafting, group: Group) -> None:
    drafting.edit(ungrouped(drafting.pipeline, group.name))
    drafting.selection = None
