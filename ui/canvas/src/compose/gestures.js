// The edits that a person makes, as gestures: add, connect, delete, lay out.
import { freeId, refusal } from '../document.js'

/** @import { Connection, FinalConnectionState } from '@xyflow/react' */
/** @import { Catalog, Gesture, Pipeline, Post, Spot } from '../types' */
/** @import { Follow, Selection } from './selection.js' */
/** @import { Viewport } from './viewport.js' */

/** @typedef {Pick<Connection, 'source' | 'target'> & Partial<Connection>} Ends */

/** @typedef {ReturnType<typeof gestures>} Gestures */

/**
 * @param {object} canvas
 * @param {Pipeline} canvas.document
 * @param {Catalog} canvas.catalog
 * @param {Selection} canvas.selection
 * @param {Viewport} canvas.viewport
 * @param {Post} canvas.act
 * @param {Follow} canvas.follow
 * @param {(sentence: string, node: string) => void} canvas.refuse
 */
export function gestures({ document, catalog, selection, viewport, act, follow, refuse }) {
  /** @param {Ends} ends */
  const refused = ({ source, target, targetHandle }) => refusal(document, catalog, source, target, targetHandle)

  /**
   * Add a node: at a place, on an edge, or else at the selection.
   *
   * @param {string} operator
   * @param {Spot | null} [place]
   * @param {string | null} [edge]
   */
  const add = (operator, place = null, edge = null) => {
    const id = freeId(document, operator)
    const into = edge ?? (place ? null : (selection.edges[0] ?? null))
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
    const { source, sourceHandle, target, targetHandle } = ends
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
    const placed = document.nodes.filter((node) => node.place && ids.includes(node.id))
    /** @type {Gesture} */
    const gesture = { kind: 'move', places: Object.fromEntries(placed.map((node) => [node.id, null])) }
    if (placed.length) act(gesture)
    setTimeout(() => viewport.fit(250), 80)
  }

  /**
   * The node after or before the selected one; the first node if none is selected.
   *
   * @param {1 | -1} direction
   */
  const neighbour = (direction) => {
    const [from] = selection.nodes
    if (from === undefined) return document.nodes[0]?.id
    return direction > 0
      ? document.edges.find((edge) => edge.source === from)?.target
      : document.edges.find((edge) => edge.target === from)?.source
  }

  return {
    add,
    connect,
    onConnectEnd,
    remove,
    relayout,
    neighbour,
    canConnect: (/** @type {Ends} */ ends) => !refused(ends),
  }
}
