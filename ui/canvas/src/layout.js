// The places of the nodes. A node that somebody placed stays there; the others are laid out from left to right by dagre,
// the nodes of an open group beside each other. A node whose neighbours are all placed stays near them.
import { Graph, layout as laidOut } from '@dagrejs/dagre'
import { around } from './grouping.js'

/** @import { Catalog, Pipeline, PipelineEdge, Places, Spot } from './types' */

/** @typedef {{ left: string, right: string }} Constraint one node above another, if they are in the same layer */

export const WIDTH = 188
export const HEIGHT = 76
const GAP_X = 96
const GAP_Y = 46
const MARGIN = 40
const MOST_TRIED = 60

/**
 * @param {Pipeline} document
 * @param {Catalog} catalog
 * @param {number} [gap] between two nodes, from left to right
 */
export function layout(document, catalog, gap = GAP_X) {
  /** @type {Places} */
  const found = {}
  for (const node of document.nodes) if (node.place) found[node.id] = node.place
  if (document.nodes.every((node) => node.place)) return found
  const corners = automatic(document, catalog, gap)
  for (const node of document.nodes) {
    if (!node.place) found[node.id] = freed(besidePlaced(document, node.id, found) ?? corners[node.id], found)
  }
  return found
}

/**
 * The places that dagre finds for all nodes. It does not know in which order a node has its ports: of a layout, the same
 * one upside down, and one that heeds this order, the one is taken in which the fewest edges cross; of several such, the
 * one in which the sources stand as in the document: an edit that has nothing to do with them does not swap their rows.
 *
 * @param {Pipeline} document
 * @param {Catalog} catalog
 * @param {number} gap
 */
function automatic(document, catalog, gap) {
  const ids = new Set(document.nodes.map((node) => node.id))
  const edges = document.edges.filter(({ source, target }) => ids.has(source) && ids.has(target))
  const plain = placedBy(document, edges, gap, [])
  const below = Math.max(...Object.values(plain).map(([, y]) => y)) + MARGIN
  /** @type {Places} */
  const upsideDown = Object.fromEntries(Object.entries(plain).map(([id, [x, y]]) => [id, [x, below - y]]))
  const sources = document.nodes.filter(({ id }) => edges.every(({ target }) => target !== id)).map(({ id }) => id)
  // Less than one crossing, however many they are.
  const faults = (/** @type {Places} */ places) =>
    crossings(document, catalog, edges, places) + 1 - 1 / (1 + swaps(sources.map((id) => places[id][1])))
  let best = plain
  let fewest = faults(plain)
  // Two layouts of a large document would be felt while it is edited.
  const ordered =
    ids.size <= MOST_TRIED ? [() => placedBy(document, edges, gap, portOrder(document, catalog, edges))] : []
  for (const candidate of [() => upsideDown, ...ordered]) {
    if (!fewest) break
    const other = candidate()
    const found = faults(other)
    if (found >= fewest) continue
    best = other
    fewest = found
  }
  return best
}

/**
 * @param {Pipeline} document
 * @param {PipelineEdge[]} edges
 * @param {number} gap
 * @param {Constraint[]} constraints
 * @returns {Places}
 */
function placedBy(document, edges, gap, constraints) {
  const graph = new Graph({ compound: true, multigraph: true })
  graph.setGraph({ rankdir: 'LR', nodesep: GAP_Y, ranksep: gap, marginx: MARGIN, marginy: MARGIN })
  for (const { id } of document.nodes) graph.setNode(id, { width: WIDTH, height: HEIGHT })
  for (const { name, inside } of document.groups ?? []) {
    graph.setNode(frameOf(name), {})
    if (inside) graph.setParent(frameOf(name), frameOf(inside))
  }
  for (const { id, group } of document.nodes) if (group) graph.setParent(id, frameOf(group))
  edges.forEach(({ source, target }, at) => graph.setEdge(source, target, {}, String(at)))
  laidOut(graph, { constraints })
  return Object.fromEntries(
    document.nodes.map(({ id }) => {
      const { x, y } = graph.node(id)
      return [id, /** @type {Spot} */ ([Math.round(x - WIDTH / 2), Math.round(y - HEIGHT / 2)])]
    }),
  )
}

/**
 * The number of pairs that are out of order.
 *
 * @param {number[]} rows
 */
const swaps = (rows) => rows.reduce((sum, row, at) => sum + rows.slice(at + 1).filter((other) => other < row).length, 0)

/**
 * The number of pairs of edges that cross, drawn straight from port to port.
 *
 * @param {Pipeline} document
 * @param {Catalog} catalog
 * @param {PipelineEdge[]} edges
 * @param {Places} places
 */
function crossings(document, catalog, edges, places) {
  const operators = new Map(document.nodes.map((node) => [node.id, node.operator]))
  const lines = edges.map(({ source, out, target, port }) => {
    const [left, top] = places[source]
    const [right, bottom] = places[target]
    const ports = catalog[operators.get(target) ?? '']?.ports ?? portsInto(edges, target)
    const into = (Math.max(0, ports.indexOf(port)) + 1) / (ports.length + 1)
    return { x1: left + WIDTH, y1: top + HEIGHT * (out === 'out' ? 0.4 : 0.6), x2: right, y2: bottom + HEIGHT * into }
  })
  let found = 0
  for (const [at, one] of lines.entries()) for (const other of lines.slice(at + 1)) if (cross(one, other)) found++
  return found
}

/**
 * @param {PipelineEdge[]} edges
 * @param {string} target
 */
const portsInto = (edges, target) =>
  [...new Set(edges.filter((edge) => edge.target === target).map((edge) => edge.port))].sort()

/** @typedef {{ x1: number, y1: number, x2: number, y2: number }} Line */

/**
 * @param {Line} one
 * @param {Line} other
 */
function cross(one, other) {
  const side = (/** @type {Line} */ { x1, y1, x2, y2 }, /** @type {number} */ x, /** @type {number} */ y) =>
    Math.sign((x2 - x1) * (y - y1) - (y2 - y1) * (x - x1))
  return (
    side(one, other.x1, other.y1) * side(one, other.x2, other.y2) < 0 &&
    side(other, one.x1, one.y1) * side(other, one.x2, one.y2) < 0
  )
}

/** @param {string} name */
const frameOf = (name) => `frame:${name}`

/**
 * The ends of a node's edges in the order of its ports, which dagre does not know.
 *
 * @param {Pipeline} document
 * @param {Catalog} catalog
 * @param {PipelineEdge[]} edges
 */
function portOrder(document, catalog, edges) {
  const operators = new Map(document.nodes.map((node) => [node.id, node.operator]))
  /** @type {Map<string, Set<string>>} */
  const above = new Map()
  const isAbove = (/** @type {string} */ one, /** @type {string} */ other) => {
    const waiting = [one]
    for (const id of waiting) {
      if (id === other) return true
      waiting.push(...[...(above.get(id) ?? [])].filter((each) => !waiting.includes(each)))
    }
    return false
  }
  /** @type {Constraint[]} */
  const found = []
  const place = (/** @type {{ port: string, end: string }[]} */ ends) => {
    for (let at = 0; at + 1 < ends.length; at++) {
      const [{ end: one, port }, { end: other, port: next }] = [ends[at], ends[at + 1]]
      const [left, right] = besideEachOther(document, one, other)
      // Two nodes may want it differently: the first wins.
      if (port === next || isAbove(right, left)) continue
      above.set(left, (above.get(left) ?? new Set()).add(right))
      found.push({ left, right })
    }
  }
  for (const { id } of document.nodes) {
    const ports = catalog[operators.get(id) ?? '']?.ports ?? []
    const fed = edges.flatMap(({ source, target, port }) => (target === id ? [{ port, end: source }] : []))
    place(fed.sort((a, b) => ports.indexOf(a.port) - ports.indexOf(b.port) || compare(a.port, b.port)))
    const feeding = edges.flatMap(({ source, target, out }) => (source === id ? [{ port: out, end: target }] : []))
    place(feeding.sort((a, b) => Number(b.port === 'out') - Number(a.port === 'out')))
  }
  return found
}

/**
 * Two nodes, or the outermost frames around them that differ: what dagre orders is in the same frame.
 *
 * @param {Pipeline} document
 * @param {string} one
 * @param {string} other
 */
function besideEachOther(document, one, other) {
  const [path, otherPath] = [one, other].map((id) => {
    const groups = around(document, document.nodes.find((node) => node.id === id)?.group)
    return [...groups.reverse().map(frameOf), id]
  })
  const at = path.findIndex((each, depth) => each !== otherPath[depth])
  return at < 0 ? [one, other] : [path[at], otherPath[at] ?? other]
}

/**
 * @param {string} one
 * @param {string} other
 */
const compare = (one, other) => (one < other ? -1 : one > other ? 1 : 0)

/**
 * The place of a node whose neighbours are all placed by hand: between or beside them; null for other nodes.
 *
 * @param {Pipeline} document
 * @param {string} id
 * @param {Places} found
 * @returns {Spot | null}
 */
function besidePlaced(document, id, found) {
  const before = document.edges.filter((edge) => edge.target === id).map((edge) => edge.source)
  const after = document.edges.filter((edge) => edge.source === id).map((edge) => edge.target)
  const all = [...before, ...after]
  const isPlaced = (/** @type {string} */ name) => document.nodes.find((node) => node.id === name)?.place
  if (!all.length || !all.every(isPlaced)) return null
  const y = Math.round(all.reduce((sum, name) => sum + found[name][1], 0) / all.length)
  const left = Math.max(...before.map((name) => found[name][0]))
  const right = Math.min(...after.map((name) => found[name][0]))
  if (before.length && after.length) return [Math.round((left + right) / 2), y]
  return [before.length ? left + WIDTH + GAP_X : right - WIDTH - GAP_X, y]
}

/**
 * The first free place below.
 *
 * @param {Spot} wanted
 * @param {Places} found
 * @returns {Spot}
 */
function freed([x, y], found) {
  const taken = Object.values(found)
  let at = y
  while (taken.some(([left, top]) => Math.abs(left - x) < WIDTH + 20 && Math.abs(top - at) < HEIGHT + 20)) {
    at += HEIGHT / 2
  }
  return [x, Math.round(at)]
}

/**
 * The places that a move has to set. Nodes that were not dragged stay where they are, even if the automatic layout now
 * has other places for them. Empty if nothing moved.
 *
 * @param {Pipeline} document
 * @param {Places} before where all nodes are seen
 * @param {Places} dragged
 * @param {Catalog} catalog
 * @returns {Places}
 */
export function pinned(document, before, dragged, catalog) {
  const isMoved = (/** @type {[string, Spot]} */ [id, at]) => before[id] && !isSame(at, before[id])
  const places = Object.fromEntries(Object.entries(dragged).filter(isMoved))
  if (!Object.keys(places).length) return {}
  const nodes = document.nodes.map((node) => (places[node.id] ? { ...node, place: places[node.id] } : node))
  const after = layout({ ...document, nodes }, catalog)
  for (const { id, place } of document.nodes) {
    if (!place && !places[id] && !isSame(after[id], before[id])) places[id] = before[id]
  }
  return places
}

/**
 * @param {Spot} one
 * @param {Spot} other
 */
const isSame = (one, other) => one[0] === other[0] && one[1] === other[1]
