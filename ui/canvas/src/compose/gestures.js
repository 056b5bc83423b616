// The edits that a person makes, as gestures: add, connect, delete, lay out.
import { edgeKey, freeId, refusal } from '../document.js'
import { around, freeGroup, groupId, groupNamed, members, realEnds } from '../grouping.js'

/** @import { Connection, FinalConnectionState } from '@xyflow/react' */
/** @import { Catalog, DrawnPipeline, Gesture, Pipeline, Post, Spot } from '../types' */
/** @import { Follow, Selection } from './selection.js' */
/** @import { Viewport } from './viewport.js' */

/** @typedef {Pick<Connection, 'source' | 'target'> & Partial<Connection>} Ends */

/** @typedef {ReturnType<typeof gestures>} Gestures */

/**
 * The edge from the only selected node to its only consumer, or null.
 *
 * @param {Pipeline} document
 * @param {string[]} nodes the selected ones
 */
export function onlyEdge(document, nodes) {
  const edges = document.edges.filter(({ source }) => source === nodes[0])
  return nodes.length === 1 && edges.length === 1 && edges[0].out === 'out' ? edgeKey(edges[0]) : null
}

/**
 * @param {object} canvas
 * @param {Pipeline} canvas.document
 * @param {DrawnPipeline} canvas.drawn
 * @param {Catalog} canvas.catalog
 * @param {Selection} canvas.selection
 * @param {Viewport} canvas.viewport
 * @param {Post} canvas.act
 * @param {Follow} canvas.follow
 * @param {(sentence: string, node: string) => void} canvas.refuse
 */
export function gestures({ document, drawn, catalog, selection, viewport, act, follow, refuse }) {
  /** @param {Ends} ends */
  const refused = (ends) => {
    const { source, target, targetHandle } = realEnds(ends)
    return refusal(document, catalog, source, target, targetHandle)
  }

  /**
   * Add a node: at a place, on an edge, or else at the selection. Behind a node with one consumer it goes between both.
   *
   * @param {string} operator
   * @param {Spot | null} [place]
   * @param {string | null} [edge]
   * @param {boolean} [isFork] it becomes a further consumer
   */
  const add = (operator, place = null, edge = null, isFork = false) => {
    const id = freeId(document, operator)
    const between = isFork || catalog[operator]?.role !== 'operator' ? null : onlyEdge(document, selection.nodes)
    const into = edge ?? (place ? null : (selection.edges[0] ?? between))
    const after = place || into ? null : loneNode()
    act({ kind: 'add', id, operator, place: edge ? null : place, after, edge: into })
    follow([id], id)
    if (!place) viewport.reveal(id)
  }

  /** The only selected node that can have a consumer, or null. */
  const loneNode = () => {
    if (selection.nodes.length !== 1) return null
    const node = document.nodes.find((each) => each.id === selection.nodes[0])
    return node && catalog[node.operator]?.role !== 'sink' ? node.id : null
  }

  /** @param {Ends} ends */
  const connect = (ends) => {
    const why = refused(ends)
    if (why) return refuse(why, ends.target)
    const { source, sourceHandle, target, targetHandle } = realEnds(ends)
    act({ kind: 'connect', source, out: sourceHandle ?? 'out', target, port: targetHandle ?? 'in' })
  }

  /**
   * Show why a connection that was dropped on a port is not possible.
   *
   * @param {unknown} _
   * @param {FinalConnectionState} state
   */
  const onConnectEnd = (_, state) => {
    const { fromHandle, fromNode, toHandle, toNode } = state
    if (state.isValid !== false || !toNode || !fromHandle || !fromNode) return
    const isForward = fromHandle.type === 'source'
    const [source, target] = isForward ? [fromNode.id, toNode.id] : [toNode.id, fromNode.id]
    const why =
      toHandle?.type === fromHandle.type
        ? `Connect an output to an input. Both ends are ${fromHandle.type === 'source' ? 'outputs' : 'inputs'}.`
        : refused({ source, target, targetHandle: (isForward ? toHandle : fromHandle)?.id })
    if (why) refuse(why, target)
  }

  const remove = () => {
    const { nodes, edges } = selection
    if (!nodes.length && !edges.length) return
    act({ kind: 'delete', nodes, edges })
    follow([], null)
  }

  /**
   * Let the automatic layout place nodes again.
   *
   * @param {string[]} ids
   */
  const relayout = (ids) => {
    const groups = (document.groups ?? []).map(({ name, place }) => ({ id: groupId(name), place, name }))
    const whole = groups.filter(({ name }) => members(document, name).every((id) => ids.includes(id)))
    const placed = [...document.nodes.filter((node) => ids.includes(node.id)), ...whole].filter((each) => each.place)
    /** @type {Gesture} */
    const gesture = { kind: 'move', places: Object.fromEntries(placed.map((each) => [each.id, null])) }
    if (placed.length) act(gesture)
    setTimeout(() => viewport.fit(250), 80)
  }

  /**
   * The node after or before the selected one; the first node if none is selected.
   *
   * @param {1 | -1} direction
   */
  const neighbour = (direction) => {
    const from = drawn.nodes.find((node) => selection.chosen.has(node.id))?.id
    if (from === undefined) return drawn.nodes[0]?.id
    return direction > 0
      ? drawn.edges.find((edge) => edge.source === from)?.target
      : drawn.edges.find((edge) => edge.target === from)?.source
  }

  /** Put the selected nodes into a group. */
  const group = () => {
    if (!selection.nodes.length) return
    const name = freeGroup(document, 'group')
    act({ kind: 'group', nodes: selection.nodes, name })
    follow([groupId(name)], groupId(name))
  }

  /** The selected groups, else the innermost ones around the selected nodes. */
  const groupsAtHand = () => {
    if (selection.groups.length) return selection.groups
    const chosen = document.nodes.filter((node) => selection.nodes.includes(node.id))
    return [...new Set(chosen.flatMap((node) => around(document, node.group).slice(0, 1)))]
  }

  const ungroup = () => {
    const [name] = groupsAtHand()
    if (name === undefined) return
    const inside = members(document, name)
    act({ kind: 'ungroup', group: name })
    follow(inside, null)
  }

  /**
   * @param {string[]} names
   * @param {boolean} isFolded
   */
  const fold = (names, isFolded) => {
    if (!names.length) return
    act({ kind: 'fold', groups: Object.fromEntries(names.map((name) => [name, isFolded])) })
    setTimeout(() => viewport.keep(), 200)
  }
  const isFolded = (/** @type {string} */ name) => document.groups?.find((each) => each.name === name)?.isFolded

  /** Fold the groups at hand, or open them. */
  const foldSelected = () => {
    const names = groupsAtHand()
    const isOpening = names.every(isFolded)
    fold(names, !isOpening)
    if (!isOpening && names.length === 1 && !selection.groups.length) selection.select([groupId(names[0])])
  }

  /** Open all groups if one is folded, else fold them all. */
  const foldAll = () => {
    const names = (document.groups ?? []).map((each) => each.name)
    fold(names, !names.some(isFolded))
  }

  /**
   * Open the folded groups around a node.
   *
   * @param {string} id
   */
  const uncover = (id) => {
    const node = document.nodes.find((each) => each.id === id)
    fold(around(document, node?.group ?? groupNamed(id)).filter(isFolded), false)
  }

  return {
    add,
    connect,
    onConnectEnd,
    remove,
    relayout,
    neighbour,
    group,
    ungroup,
    fold,
    foldSelected,
    foldAll,
    uncover,
    canConnect: (/** @type {Ends} */ ends) => !refused(ends),
  }
}
