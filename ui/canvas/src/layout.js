// The places of the nodes. A node that somebody placed stays there; the others are laid out from left to right. A node
// whose neighbours are all placed stays near them.
import { layered } from './layered.js'

/** @import { Catalog, Pipeline, Places, Spot } from './types' */

export const WIDTH = 188
export const HEIGHT = 76
const GAP_X = 96
const GAP_Y = 46
const MARGIN = 40

/**
 * @param {Pipeline} document
 * @param {Catalog} catalog
 * @param {number} [gap] between two nodes, from left to right
 */
export function layout(document, catalog, gap = GAP_X) {
  const spots = layered(document, catalog, HEIGHT + GAP_Y)
  const top = Math.min(...Object.values(spots).map((spot) => spot.middle))
  /** @type {Places} */
  const found = {}
  for (const node of document.nodes) if (node.place) found[node.id] = node.place
  for (const node of document.nodes) {
    if (node.place) continue
    const { layer, middle } = spots[node.id]
    /** @type {Spot} */
    const corner = [MARGIN + layer * (WIDTH + gap), Math.round(MARGIN + middle - top)]
    found[node.id] = freed(besidePlaced(document, node.id, found) ?? corner, found)
  }
  return found
}

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
