"""Groups of nodes: a group is drawn as a frame around its nodes, or, folded, as one node. What runs is the same."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from engine.errors import PipelineError
from engine.model.free_names import LONGEST_ID, free_id
from engine.model.pipeline import Group, Pipeline
from ui.builder.editing import without_empty_groups

PREFIX: Final = "group:"
"""Before the name of a group where ids of nodes stand as well; no id of a node has a colon."""


def group_of(what: str | None) -> str | None:
    """The name of the group that is selected; None for a node, an edge, or nothing."""
    return what.removeprefix(PREFIX) if what is not None and what.startswith(PREFIX) else None


def members(pipeline: Pipeline, name: str) -> tuple[str, ...]:
    """The nodes of a group and of the groups inside of it."""
    return tuple(node.id for node in pipeline.nodes if name in pipeline.around(node.group))


def memberships(pipeline: Pipeline) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """The groups of the nodes, and the groups around the groups; not where they stand, and whether they are folded."""
    of_nodes = {node.id: node.group for node in pipeline.nodes if node.group}
    return of_nodes, {group.name: group.inside for group in pipeline.groups}


def grouped(pipeline: Pipeline, nodes: Collection[str], wanted: str) -> tuple[Pipeline, str]:
    """Put nodes into a new group, and groups all of whose nodes are among them. Also returns its name.

    The new group is inside of the innermost group that all of them are in.
    """
    chosen = [node for node in pipeline.nodes if node.id in nodes]
    if not chosen:
        return pipeline, ""
    whole = {group.name for group in pipeline.groups if set(members(pipeline, group.name)) <= set(nodes)}
    paths = [[name for name in pipeline.around(node.group) if name not in whole] for node in chosen]
    inside = next((name for name in paths[0] if all(name in path for path in paths)), "")
    name = free_id(wanted, [group.name for group in pipeline.groups])

    def outermost(group: str) -> bool:
        return group in whole and not any(name in whole for name in pipeline.around(group) if name != group)

    moved = tuple(
        node.model_copy(update={"group": name}) if node in chosen and node.group not in whole else node
        for node in pipeline.nodes
    )
    old_groups = tuple(
        group.model_copy(update={"inside": name}) if outermost(group.name) else group for group in pipeline.groups
    )
    groups = (*old_groups, Group(name=name, inside=inside))
    return without_empty_groups(pipeline.model_copy(update={"nodes": moved, "groups": groups})), name


def ungrouped(pipeline: Pipeline, name: str) -> Pipeline:
    """Take a group away; its nodes, and the groups in it, are in the group around it then."""
    around = next((group.inside for group in pipeline.groups if group.name == name), "")
    nodes = tuple(node.model_copy(update={"group": around}) if node.group == name else node for node in pipeline.nodes)
    groups = tuple(
        group.model_copy(update={"inside": around}) if group.inside == name else group
        for group in pipeline.groups
        if group.name != name
    )
    return pipeline.model_copy(update={"nodes": nodes, "groups": groups})


def folded(pipeline: Pipeline, groups: Mapping[str, bool]) -> Pipeline:
    """Fold or open groups."""
    changed = tuple(
        group.model_copy(update={"folded": groups.get(group.name, group.folded)}) for group in pipeline.groups
    )
    return pipeline.model_copy(update={"groups": changed})


def renamed_group(pipeline: Pipeline, old: str, new: str) -> Pipeline:
    """Give a group another name. Raises PipelineError for one that is empty, too long, or taken."""
    new = new.strip()
    if not new or len(new) > LONGEST_ID:
        message = f"a group's name has 1 to {LONGEST_ID} characters."
        raise PipelineError(message, "", "groups")
    if any(group.name == new for group in pipeline.groups if group.name != old):
        message = f"a group {new!r} already exists."
        raise PipelineError(message, "", "groups")

    def named(name: str) -> str:
        return new if name == old else name

    nodes = tuple(node.model_copy(update={"group": named(node.group)}) for node in pipeline.nodes)
    groups = tuple(
        group.model_copy(update={"name": named(group.name), "inside": named(group.inside)}) for group in pipeline.groups
    )
    return pipeline.model_copy(update={"nodes": nodes, "groups": groups})


def grouped_like(pipeline: Pipeline, other: Pipeline) -> Pipeline:
    """The document with the nodes that it shares with another one in the groups that they have there, and its story."""
    their_groups = {node.id: node.group for node in other.nodes}
    nodes = tuple(node.model_copy(update={"group": their_groups.get(node.id, node.group)}) for node in pipeline.nodes)
    groups = {group.name: group for group in (*pipeline.groups, *other.groups)}
    both = {"nodes": nodes, "groups": tuple(groups.values()), "story": pipeline.story or other.story}
    return without_empty_groups(pipeline.model_copy(update=both))
