// Which part of a graph is in view at an event. If all of it would be too small to read, the view follows the records.

import { HEIGHT, WIDTH } from '../layout.js'

/** @import { Places } from '../types' */

/** @typedef {{ x: number, y: number, width: number, height: number }} Part */

// In a presentation, a room can read names from this zoom on.
export const LEAST_PRESENTED = 0.75
export const MOST_PRESENTED = 1.5
const ROOM = 40
const EDGE = 20
// Around the whole graph.
export const MARGIN = 24

/**
 * The parts of a graph that the view follows; none if all of it can be read.
 *
 * @param {Places} places
 * @param {string[]} lit
 * @param {{ width: number, height: number }} size
 * @param {number} least zoom at which it can be read
 */
export function followed(places, lit, size, least) {
  const box = (/** @type {string} */ id) => ({ x: places[id][0], y: places[id][1], width: WIDTH, height: HEIGHT })
  const ids = Object.keys(places)
  if (!ids.length) return []
  const tight = around(ids.map(box))
  const whole = {
    x: tight.x - MARGIN,
    y: tight.y - MARGIN,
    width: tight.width + 2 * MARGIN,
    height: tight.height + 2 * MARGIN,
  }
  if (Math.min(size.width / whole.width, size.height / whole.height) >= least) return []
  return shots(lit.map(box), whole, size, least)
}

/**
 * A part as the viewport of a canvas that it fills.
 *
 * @param {Part} part
 * @param {{ width: number }} size
 */
export const seenAs = ({ x, y, width }, size) => {
  const zoom = size.width / width
  return { x: -x * zoom, y: -y * zoom, zoom }
}

/**
 * The parts of a graph to show one after the other: one with all lit nodes if they fit, else the one with the first of
 * them and the one with the last.
 *
 * @param {Part[]} lit the nodes that the event touched
 * @param {Part} whole
 * @param {{ width: number, height: number }} size of the view, in px
 * @param {number} least px per unit of the graph at which it can be read
 * @returns {Part[]} within the graph, of the shape of the view
 */
export function shots(lit, whole, size, least) {
  if (!lit.length) return [partAround(whole.x, whole.y + whole.height / 2, scaled(size, least), whole)]
  const all = around(lit)
  const scale = Math.min(
    1,
    Math.max(least, Math.min(size.width / (all.width + ROOM), size.height / (all.height + ROOM))),
  )
  const { width, height } = scaled(size, scale)
  const isWide = all.width > width
  const isHigh = all.height > height
  const row = (/** @type {Part} */ box) => box.y + box.height / 2
  const to = (/** @type {Part} */ end, /** @type {number} */ x) =>
    partAround(isWide ? x : all.x + all.width / 2, isHigh ? row(end) : row(all), { width, height }, whole)
  const first = lit.reduce((one, other) => (other.x < one.x ? other : one))
  const last = lit.reduce((one, other) => (other.x > one.x ? other : one))
  const begin = to(first, all.x + width / 2 - EDGE)
  return isWide || isHigh ? [begin, to(last, all.x + all.width - width / 2 + EDGE)] : [begin]
}

/**
 * The part around several.
 *
 * @param {Part[]} parts at least one
 * @returns {Part}
 */
export function around(parts) {
  const x = Math.min(...parts.map((part) => part.x))
  const y = Math.min(...parts.map((part) => part.y))
  const right = Math.max(...parts.map((part) => part.x + part.width))
  const bottom = Math.max(...parts.map((part) => part.y + part.height))
  return { x, y, width: right - x, height: bottom - y }
}

/**
 * @param {{ width: number, height: number }} size
 * @param {number} scale
 */
const scaled = ({ width, height }, scale) => ({ width: width / scale, height: height / scale })

/**
 * A part of a size around a point, but not beyond the graph.
 *
 * @param {number} x
 * @param {number} y
 * @param {{ width: number, height: number }} size
 * @param {Part} whole
 * @returns {Part}
 */
function partAround(x, y, { width, height }, whole) {
  return {
    x: within(x, width, whole.x, whole.width),
    y: within(y, height, whole.y, whole.height),
    width,
    height,
  }
}

/**
 * @param {number} at
 * @param {number} size
 * @param {number} from
 * @param {number} all
 */
const within = (at, size, from, all) =>
  size >= all ? from + (all - size) / 2 : Math.min(Math.max(at - size / 2, from), from + all - size)
