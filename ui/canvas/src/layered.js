// A layout in layers from left to right, with few crossings.
//
// layer    the longest path from a source; a source that is needed late is in the layer before its consumer
// order    within a layer, by the ports of a node's edges; an edge over several layers has a place in each of them, so
//          that it crosses nothing there either
// height   as level with the neighbours as the order and the distances allow

/** @import { Catalog, Pipeline } from './types' */

/** @typedef {{ id: string, layer: number, isNode: boolean }} Place a node, or where an edge passes a layer */
/** @typedef {{ from: string, to: string, out: number, into: number }} Link between neighbouring layers; ends as parts of 1 */

const SWEEPS = 10
const SETTLING = 16

/**
 * The layer of every node, and the distance of its middle from the top.
 *
 * @param {Pipeline} document
 * @param {Catalog} catalog
 * @param {number} distance between the middles of two nodes, one above the other; edges need half of it
 * @returns {Record<string, { layer: number, middle: number }>}
 */
export function layered(document, catalog, distance) {
  const layers = layersOf(document)
  const { places, links } = broken(document, catalog, layers)
  const rows = ordered(places, links)
  const middles = levelled(rows, links, places, distance)
  return Object.fromEntries(document.nodes.map(({ id }) => [id, { layer: layers[id], middle: middles[id] }]))
}

/**
 * @param {Pipeline} document
 * @returns {Record<string, number>}
 */
function layersOf(document) {
  const ids = document.nodes.map((node) => node.id)
  /** @type {Record<string, number>} */
  const layers = Object.fromEntries(ids.map((id) => [id, 0]))
  const known = document.edges.filter((edge) => edge.source in layers && edge.target in layers)
  const feeds = grouped(known, 'target')
  const fed = grouped(known, 'source')
  const waiting = Object.fromEntries(ids.map((id) => [id, feeds.get(id)?.length ?? 0]))
  const ready = ids.filter((id) => !waiting[id])
  // Nodes on a cycle are never ready and stay in the first layer.
  for (let at = 0; at < ready.length; at++) {
    for (const { target } of fed.get(ready[at]) ?? []) {
      layers[target] = Math.max(layers[target], layers[ready[at]] + 1)
      if (!--waiting[target]) ready.push(target)
    }
  }
  for (const id of ids) {
    const consumers = (fed.get(id) ?? []).map((edge) => layers[edge.target])
    if (consumers.length && !feeds.has(id)) layers[id] = Math.max(0, Math.min(...consumers) - 1)
  }
  return layers
}

/**
 * Places and links, where no link is longer than one layer.
 *
 * @param {Pipeline} document
 * @param {Catalog} catalog
 * @param {Record<string, number>} layers
 */
function broken(document, catalog, layers) {
  /** @type {Map<string, Place>} */
  const places = new Map(document.nodes.map(({ id }) => [id, { id, layer: layers[id], isNode: true }]))
  /** @type {Link[]} */
  const links = []
  const operators = new Map(document.nodes.map((node) => [node.id, node.operator]))
  document.edges.forEach((edge, number) => {
    const first = layers[edge.source]
    const last = layers[edge.target]
    if (first === undefined || last === undefined || last <= first) return
    const outs = ['out', ...portsOf(document, edge.source, 'out').filter((port) => port !== 'out')]
    const ins = catalog[operators.get(edge.target) ?? '']?.ports ?? portsOf(document, edge.target, 'port')
    let from = edge.source
    let out = part(outs, edge.out)
    for (let layer = first + 1; layer < last; layer++) {
      const id = `\u0000${number}.${layer}`
      places.set(id, { id, layer, isNode: false })
      links.push({ from, to: id, out, into: 0.5 })
      from = id
      out = 0.5
    }
    links.push({ from, to: edge.target, out, into: part(ins, edge.port) })
  })
  return { places, links }
}

/**
 * The ports of each node that edges use, by name.
 *
 * @param {Pipeline} document
 * @param {string} id
 * @param {'out' | 'port'} side
 */
function portsOf(document, id, side) {
  const end = side === 'out' ? 'source' : 'target'
  return [...new Set(document.edges.filter((edge) => edge[end] === id).map((edge) => edge[side]))].sort()
}

/**
 * The height of a port within its node, from 0 (top) to 1.
 *
 * @param {string[]} ports
 * @param {string} port
 */
const part = (ports, port) => (Math.max(0, ports.indexOf(port)) + 1) / (ports.length + 1)

/**
 * The places of each layer, from top to bottom.
 *
 * @param {Map<string, Place>} places
 * @param {Link[]} links
 */
function ordered(places, links) {
  const after = grouped(links, 'from')
  const before = grouped(links, 'to')
  /** @type {string[][]} */
  const rows = []
  // Connected nodes are together from the start, in the document's order.
  /** @type {Set<string>} */
  const seen = new Set()
  for (const start of places.keys()) {
    const stack = [start]
    while (stack.length) {
      const id = /** @type {string} */ (stack.pop())
      if (seen.has(id)) continue
      seen.add(id)
      const { layer } = /** @type {Place} */ (places.get(id))
      ;(rows[layer] ??= []).push(id)
      const near = [...(after.get(id) ?? []).map((link) => link.to), ...(before.get(id) ?? []).map((link) => link.from)]
      stack.push(...near.reverse())
    }
  }
  for (let layer = 0; layer < rows.length; layer++) rows[layer] ??= []
  let best = rows.map((row) => [...row])
  let fewest = crossings(best, links, places)
  for (let sweep = 0; sweep < SWEEPS && fewest; sweep++) {
    const isForward = sweep % 2 === 0
    const order = isForward ? rows.keys() : [...rows.keys()].reverse()
    for (const layer of order) sortLayer(rows, layer, isForward ? before : after, isForward)
    const found = crossings(rows, links, places)
    if (found < fewest) {
      fewest = found
      best = rows.map((row) => [...row])
    }
  }
  return fewest ? swapped(best, links, places, fewest) : best
}

/**
 * Sort a layer by the mean position of the places that each place is connected to.
 *
 * @param {string[][]} rows
 * @param {number} layer
 * @param {Map<string, Link[]>} links those on the side that is looked at
 * @param {boolean} isForward
 */
function sortLayer(rows, layer, links, isForward) {
  const at = new Map(rows.flatMap((row) => row.map((id, place) => [id, place])))
  /** @type {Map<string, number>} */
  const weights = new Map()
  for (const id of rows[layer]) {
    const near = (links.get(id) ?? []).map((link) =>
      isForward ? (at.get(link.from) ?? 0) + link.out : (at.get(link.to) ?? 0) + link.into,
    )
    weights.set(id, near.length ? near.reduce((sum, each) => sum + each, 0) / near.length : (at.get(id) ?? 0) + 0.5)
  }
  rows[layer].sort((a, b) => (weights.get(a) ?? 0) - (weights.get(b) ?? 0))
}

/**
 * Swap neighbours as long as that saves crossings.
 *
 * @param {string[][]} rows
 * @param {Link[]} links
 * @param {Map<string, Place>} places
 * @param {number} fewest
 */
function swapped(rows, links, places, fewest) {
  for (let isBetter = true; isBetter && fewest;) {
    isBetter = false
    for (const row of rows) {
      for (let at = 0; at + 1 < row.length; at++) {
        ;[row[at], row[at + 1]] = [row[at + 1], row[at]]
        const found = crossings(rows, links, places)
        if (found < fewest) {
          fewest = found
          isBetter = true
        } else {
          ;[row[at], row[at + 1]] = [row[at + 1], row[at]]
        }
      }
    }
  }
  return rows
}

/**
 * The number of pairs of links that cross.
 *
 * @param {string[][]} rows
 * @param {Link[]} links
 * @param {Map<string, Place>} places
 */
function crossings(rows, links, places) {
  const at = new Map(rows.flatMap((row) => row.map((id, place) => [id, place])))
  /** @type {[number, number][][]} */
  const byLayer = []
  for (const link of links) {
    const layer = /** @type {Place} */ (places.get(link.from)).layer
    ;(byLayer[layer] ??= []).push([(at.get(link.from) ?? 0) + link.out, (at.get(link.to) ?? 0) + link.into])
  }
  let found = 0
  for (const ends of byLayer.filter(Boolean)) {
    ends.sort((a, b) => a[0] - b[0] || a[1] - b[1])
    for (let one = 0; one < ends.length; one++) {
      for (let other = one + 1; other < ends.length; other++) {
        if (ends[one][0] < ends[other][0] && ends[one][1] > ends[other][1]) found++
      }
    }
  }
  return found
}

/**
 * The distances of the middles from the top: as level with the neighbours as the order and the distances allow.
 *
 * @param {string[][]} rows
 * @param {Link[]} links
 * @param {Map<string, Place>} places
 * @param {number} distance
 */
function levelled(rows, links, places, distance) {
  const after = grouped(links, 'from')
  const before = grouped(links, 'to')
  const room = (/** @type {string} */ id) => (places.get(id)?.isNode ? distance : distance / 2)
  /** @type {Record<string, number>} */
  const middles = {}
  /** @type {number[][]} how far below the first of its layer each place is at least */
  const least = rows.map((row) => {
    let sum = 0
    return row.map((id, at) => (at ? (sum += (room(row[at - 1]) + room(id)) / 2) : 0))
  })
  const tallest = Math.max(0, ...least.map((each) => each.at(-1) ?? 0))
  rows.forEach((row, layer) =>
    row.forEach((id, at) => {
      middles[id] = least[layer][at] + (tallest - (least[layer].at(-1) ?? 0)) / 2
    }),
  )
  for (let sweep = 0; sweep < SETTLING; sweep++) {
    const isForward = sweep % 2 === 0
    const order = isForward ? [...rows.keys()] : [...rows.keys()].reverse()
    for (const layer of order) {
      const wanted = rows[layer].map((id) => {
        const feeding = (before.get(id) ?? []).map((link) => middles[link.from])
        const fed = (after.get(id) ?? []).map((link) => middles[link.to])
        const sides = isForward ? [feeding, fed] : [fed, feeding]
        const near = sides[0].length ? sides[0] : sides[1]
        return near.length ? near.reduce((sum, each) => sum + each, 0) / near.length : middles[id]
      })
      const found = apart(wanted, least[layer])
      rows[layer].forEach((id, at) => {
        middles[id] = found[at]
      })
    }
  }
  return middles
}

/**
 * The values nearest to the wanted ones (least squares) that keep their distances. Values that would overlap move as
 * one block.
 *
 * @param {number[]} wanted
 * @param {number[]} least
 */
function apart(wanted, least) {
  /** @type {{ sum: number, count: number }[]} */
  const blocks = []
  wanted.forEach((each, at) => {
    let block = { sum: each - least[at], count: 1 }
    for (let last = blocks.at(-1); last && last.sum / last.count > block.sum / block.count; last = blocks.at(-1)) {
      blocks.pop()
      block = { sum: last.sum + block.sum, count: last.count + block.count }
    }
    blocks.push(block)
  })
  const starts = blocks.flatMap(({ sum, count }) => Array(count).fill(sum / count))
  return starts.map((start, at) => start + least[at])
}

/**
 * The links by one of their ends.
 *
 * @template {string} K
 * @template {Record<K, string>} T
 * @param {T[]} all
 * @param {K} end
 */
function grouped(all, end) {
  /** @type {Map<string, T[]>} */
  const found = new Map()
  for (const each of all) found.set(each[end], [...(found.get(each[end]) ?? []), each])
  return found
}
