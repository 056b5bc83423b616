// The document that the canvas shows before Python has answered. The edits are the same as in `ui/builder/editing.py`,
// so nothing waits for a round trip. Python's answer replaces this document once Python has received every message.
// `tests/ui/gestures.json` tests that both sides have the same results.

import { folded, grouped, groupId, ungrouped, withoutEmptyGroups } from './grouping.js'

/** @import { Catalog, Gesture, Pipeline, PipelineEdge, PipelineNode, Places, Spot } from './types' */

/**
 * The key of an edge.
 *
 * @param {PipelineEdge} edge
 */
export const edgeKey = ({ source, out, target, port }) =>
  `${out === 'out' ? source : `${source}.${out}`}>${target}:${port}`

/**
 * @param {import('./types').CatalogEntry[]} entries
 * @returns {Catalog}
 */
export const byOperator = (entries) => Object.fromEntries(entries.map((each) => [each.operator, each]))

/**
 * The wanted id, or the first of wanted_2, wanted_3, ... that is not taken.
 *
 * @param {Pipeline} document
 * @param {string} wanted
 */
export function freeId(document, wanted) {
  const taken = new Set(document.nodes.map((node) => node.id.toLowerCase()))
  let number = 1
  let found = wanted
  while (taken.has(found.toLowerCase())) found = `${wanted}_${++number}`
  return found
}

/**
 * All nodes downstream of a node.
 *
 * @param {Pipeline} document
 * @param {string} id
 */
function descendants(document, id) {
  /** @type {Set<string>} */
  const found = new Set()
  const waiting = [id]
  while (waiting.length) {
    const from = waiting.pop()
    for (const edge of document.edges) {
      if (edge.source === from && !found.has(edge.target)) {
        found.add(edge.target)
        waiting.push(edge.target)
      }
    }
  }
  return found
}

/**
 * Why two ends cannot be connected whatever the columns are, as a sentence; null if they can.
 *
 * @param {Pipeline} document
 * @param {Catalog} catalog
 * @param {string} source
 * @param {string} target
 * @param {string | null} [port]
 */
export function refusal(document, catalog, source, target, port) {
  if (source === target) return `${source} cannot be connected to itself.`
  if (entryOf(document, catalog, source)?.role === 'sink') return `${source} is a sink and has no output.`
  const ports = entryOf(document, catalog, target)?.ports
  if (ports && !ports.includes(port ?? '')) return `${target} has no input ${port}.`
  if (descendants(document, target).has(source)) {
    const cycle = `Connecting ${source} to ${target} would create a cycle.`
    return `${cycle} Remove an edge between ${target} and ${source} first.`
  }
  return null
}

/**
 * The catalog's entry of a node's operator.
 *
 * @param {Pipeline} document
 * @param {Catalog} catalog
 * @param {string} id
 */
const entryOf = (document, catalog, id) => catalog[document.nodes.find((node) => node.id === id)?.operator ?? '']

/**
 * @param {Pipeline} document
 * @param {string} id
 */
const has = (document, id) => document.nodes.some((node) => node.id === id)

/**
 * The edge with this key.
 *
 * @param {Pipeline} document
 * @param {string | null} [key]
 */
const edgeAt = (document, key) => document.edges.find((edge) => edgeKey(edge) === key)

/**
 * @param {PipelineEdge} one
 * @param {PipelineEdge} other
 */
const isSameInput = (one, other) => one.target === other.target && one.port === other.port

/**
 * Add an edge; it replaces the one at the same input.
 *
 * @param {Pipeline} document
 * @param {Catalog} catalog
 * @param {PipelineEdge} edge
 * @returns {Pipeline}
 */
function withEdge(document, catalog, edge) {
  const isMany = entryOf(document, catalog, edge.target)?.many
  const kept = document.edges.filter((each) => edgeKey(each) !== edgeKey(edge) && (isMany || !isSameInput(each, edge)))
  return { ...document, edges: [...kept, edge] }
}

/**
 * Add an edge that was drawn. An edge that Python will refuse, because the input is taken, is not shown.
 *
 * @param {Pipeline} document
 * @param {Catalog} catalog
 * @param {PipelineEdge} edge
 */
function connected(document, catalog, edge) {
  const { source, target, port } = edge
  if (!has(document, source) || !has(document, target)) return document
  if (refusal(document, catalog, source, target, port)) return document
  const inWay = document.edges.filter((each) => isSameInput(each, edge))
  const isTaken = inWay.length > 0 && !inWay.some((each) => each.source === source)
  return isTaken && !entryOf(document, catalog, target)?.many ? document : withEdge(document, catalog, edge)
}

/**
 * Add a node from the palette: at a place, after a node, or on an edge. Its input is connected, and the records of the
 * edge then flow through the node.
 *
 * @param {Pipeline} document
 * @param {Catalog} catalog
 * @param {Extract<Gesture, { kind: 'add' }>} gesture
 * @returns {Pipeline}
 */
function withNode(document, catalog, { id: wanted, operator, place, after, edge }) {
  const id = freeId(document, wanted)
  const entry = catalog[operator]
  const grown = { ...document, nodes: [...document.nodes, { id, operator, parameters: {}, place: placed(place) }] }
  const split = edgeAt(document, edge)
  const canFeed = after && has(document, after) && entryOf(document, catalog, after)?.role !== 'sink'
  const from = split ?? (canFeed ? { source: after, out: 'out' } : null)
  const port = entry?.ports[0]
  if (!from || !port) return grown
  const fed = withEdge(grown, catalog, { source: from.source, out: from.out, target: id, port })
  if (!split || entry.role === 'sink') return fed
  const edges = fed.edges.map((each) => (each === split ? { ...each, source: id, out: 'out' } : each))
  return inGroupOf({ ...fed, edges }, split, id)
}

/**
 * The document with a node in the group of an edge, if both ends of the edge are in it.
 *
 * @param {Pipeline} document
 * @param {PipelineEdge} edge
 * @param {string} id
 * @returns {Pipeline}
 */
function inGroupOf(document, { source, target }, id) {
  const [one, other] = [source, target].map((end) => document.nodes.find((node) => node.id === end)?.group)
  if (!one || one !== other) return document
  return { ...document, nodes: document.nodes.map((node) => (node.id === id ? { ...node, group: one } : node)) }
}

/**
 * Insert a node without edges between the two ends of an edge.
 *
 * @param {Pipeline} document
 * @param {Catalog} catalog
 * @param {Extract<Gesture, { kind: 'insert' }>} gesture
 * @returns {Pipeline}
 */
function inserted(document, catalog, { node, edge }) {
  const split = edgeAt(document, edge)
  const port = entryOf(document, catalog, node)?.ports[0]
  if (!split || !port) return document
  const cut = { ...document, edges: document.edges.filter((each) => each !== split) }
  const fed = withEdge(cut, catalog, { source: split.source, out: split.out, target: node, port })
  const whole = withEdge(fed, catalog, { ...split, source: node, out: 'out' })
  return moved(inGroupOf(whole, split, node), { [node]: null })
}

/**
 * Remove a node. If it has one input, its consumers take that input, so there is no gap. The edges of its late records
 * are removed with it.
 *
 * @param {Pipeline} document
 * @param {string} id
 * @returns {Pipeline}
 */
function withoutNode(document, id) {
  const inputs = document.edges.filter((edge) => edge.target === id)
  /** @type {PipelineEdge[]} */
  const edges = []
  for (const edge of document.edges) {
    if (edge.target === id) continue
    const isOutput = edge.source === id
    if (isOutput && (inputs.length !== 1 || edge.out !== 'out')) continue
    const bridged = isOutput ? { ...edge, source: inputs[0].source, out: inputs[0].out } : edge
    if (!edges.some((each) => edgeKey(each) === edgeKey(bridged))) edges.push(bridged)
  }
  return withoutEmptyGroups({ ...document, nodes: document.nodes.filter((node) => node.id !== id), edges })
}

/**
 * @param {Pipeline} document
 * @param {Record<string, Spot | null>} places
 * @returns {Pipeline}
 */
const moved = (document, places) => ({
  ...document,
  nodes: document.nodes.map((node) => (node.id in places ? { ...node, place: placed(places[node.id]) } : node)),
  groups: document.groups?.map((group) => {
    const id = groupId(group.name)
    return id in places ? { ...group, place: placed(places[id]) } : group
  }),
})

/**
 * A place as the document stores it. There, the origin means that nobody placed the node.
 *
 * @param {Spot | null} [spot]
 * @returns {Spot | null}
 */
const placed = (spot) => (spot && spot[0] === 0 && spot[1] === 0 ? [1, 0] : (spot ?? null))

/**
 * Add nodes. A name that was taken meanwhile is replaced by a free one.
 *
 * @param {Pipeline} document
 * @param {Pipeline} piece
 * @returns {Pipeline}
 */
function pasted(document, piece) {
  /** @type {Record<string, string>} */
  const names = {}
  let { nodes } = document
  for (const node of piece.nodes) {
    names[node.id] = freeId({ ...document, nodes }, node.id)
    const group = document.groups?.some((each) => each.name === node.group) ? node.group : ''
    nodes = [...nodes, { ...node, id: names[node.id], group, place: placed(node.place) }]
  }
  return { ...document, nodes, edges: [...document.edges, ...rewired(piece.edges, names)] }
}

/**
 * @param {PipelineEdge[]} edges
 * @param {Record<string, string>} names
 */
const rewired = (edges, names) =>
  edges.map((edge) => ({ ...edge, source: names[edge.source], target: names[edge.target] }))

/**
 * The document after a gesture; the same document if only Python can compute the result.
 *
 * @param {Pipeline} document
 * @param {Catalog} catalog
 * @param {Gesture} gesture
 * @returns {Pipeline}
 */
export function applied(document, catalog, gesture) {
  switch (gesture.kind) {
    case 'add':
      return withNode(document, catalog, gesture)
    case 'connect': {
      const { source, out, target, port } = gesture
      return connected(document, catalog, { source, out, target, port })
    }
    case 'delete': {
      const edges = document.edges.filter((edge) => !gesture.edges.includes(edgeKey(edge)))
      return gesture.nodes.reduce(withoutNode, { ...document, edges })
    }
    case 'insert':
      return inserted(document, catalog, gesture)
    case 'move':
      return moved(document, gesture.places)
    case 'paste':
      return pasted(document, gesture)
    case 'group':
      return grouped(document, gesture.nodes, gesture.name)
    case 'ungroup':
      return ungrouped(document, gesture.group)
    case 'fold':
      return folded(document, gesture.groups)
    default:
      return document
  }
}

/**
 * The content of a selection for the clipboard: its nodes, and the edges between them.
 *
 * @param {Pipeline} document
 * @param {string[]} ids
 * @returns {Pipeline}
 */
export function copied(document, ids) {
  const chosen = new Set(ids)
  return {
    nodes: document.nodes.filter((node) => chosen.has(node.id)),
    edges: document.edges.filter((edge) => chosen.has(edge.source) && chosen.has(edge.target)),
  }
}

/**
 * Copies of the nodes, with free names and shifted a little. A copy of words_2 is words_3, not words_2_2.
 *
 * @param {Pipeline} document
 * @param {Pipeline} piece
 * @param {Places} positions
 * @param {number} aside
 * @returns {Pipeline}
 */
export function renamed(document, piece, positions, aside) {
  /** @type {Record<string, string>} */
  const names = {}
  /** @type {PipelineNode[]} */
  const nodes = []
  for (const node of piece.nodes) {
    const [x, y] = positions[node.id] ?? node.place ?? [0, 0]
    const taken = { ...document, nodes: [...document.nodes, ...nodes] }
    names[node.id] = freeId(taken, node.id.replace(/_\d+$/, ''))
    nodes.push({ ...node, id: names[node.id], place: [Math.round(x + aside), Math.round(y + aside)] })
  }
  return { nodes, edges: rewired(piece.edges, names) }
}
