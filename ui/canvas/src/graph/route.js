// The line of an edge, from port to port and around the nodes that stand between them, and the place of its label.
import { HEIGHT, WIDTH } from '../layout.js'

/** @typedef {[x: number, y: number]} Point */
/** @typedef {{ left: number, top: number, right: number, bottom: number }} Box */
/** @typedef {{ d: string, points: Point[], within: Box }} Route `points`: along the line, from its begin; `within`: around them */

/** @import { Places } from '../types' */

const CLEAR = 10
const STEPS = 24
const LEAST_BEND = 40

/**
 * @param {Places} places
 * @param {number} [height] of a node
 * @returns {Map<string, Box>}
 */
export const boxesAt = (places, height = HEIGHT) =>
  new Map(Object.entries(places).map(([id, [x, y]]) => [id, { left: x, top: y, right: x + WIDTH, bottom: y + height }]))

/**
 * The boxes of the nodes at neither end of an edge.
 *
 * @param {Map<string, Box>} boxes
 * @param {{ source: string, target: string }} edge
 */
export const inTheWay = (boxes, { source, target }) =>
  [...boxes].flatMap(([id, box]) => (id === source || id === target ? [] : [box]))

/**
 * @param {Point} from
 * @param {Point} to
 * @param {Box[]} boxes of all other nodes
 * @returns {Route}
 */
export function routed(from, to, boxes) {
  const direct = through([from, to])
  const hit = boxes.filter((box) => isCrossed(direct, box))
  if (!hit.length) return direct
  const [left, right] = [Math.min(from[0], to[0]), Math.max(from[0], to[0])]
  const between = boxes.filter((box) => box.right > left && box.left < right)
  const middle = (from[1] + to[1]) / 2
  const heights = between.flatMap((box) => [box.top - CLEAR * 2, box.bottom + CLEAR * 2])
  heights.sort((one, other) => Math.abs(one - middle) - Math.abs(other - middle))
  const begin = Math.max(left, Math.min(...hit.map((box) => box.left)) - CLEAR)
  const end = Math.min(right, Math.max(...hit.map((box) => box.right)) + CLEAR)
  for (const height of heights) {
    const around = through([from, [begin, height], [end, height], to])
    if (!boxes.some((box) => isCrossed(around, box))) return around
  }
  return direct
}

/**
 * A curve that leaves and enters every point on the level.
 *
 * @param {Point[]} stops
 * @returns {Route}
 */
function through(stops) {
  let d = `M${at(stops[0])}`
  /** @type {Point[]} */
  const points = [stops[0]]
  for (let stop = 1; stop < stops.length; stop++) {
    const [[x1, y1], [x2, y2]] = [stops[stop - 1], stops[stop]]
    // Backwards, it has to turn beside the nodes; between two stops of a detour, it has not.
    const bend = stops.length > 2 ? Math.abs(x2 - x1) / 2 : Math.max(LEAST_BEND, Math.abs(x2 - x1) / 2)
    d += ` C${at([x1 + bend, y1])} ${at([x2 - bend, y2])} ${at([x2, y2])}`
    for (let step = 1; step <= STEPS; step++) {
      const t = step / STEPS
      const mixed = (/** @type {number[]} */ [a, b, c, e]) =>
        a * (1 - t) ** 3 + 3 * b * t * (1 - t) ** 2 + 3 * c * t ** 2 * (1 - t) + e * t ** 3
      points.push([mixed([x1, x1 + bend, x2 - bend, x2]), mixed([y1, y1, y2, y2])])
    }
  }
  const [xs, ys] = [points.map(([x]) => x), points.map(([, y]) => y)]
  const within = { left: Math.min(...xs), top: Math.min(...ys), right: Math.max(...xs), bottom: Math.max(...ys) }
  return { d, points, within }
}

/** @param {Point} point */
const at = ([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`

/**
 * @param {Route} route
 * @param {Box} box
 */
const isCrossed = ({ points, within }, { left, top, right, bottom }) =>
  left < within.right &&
  right > within.left &&
  top - CLEAR < within.bottom &&
  bottom + CLEAR > within.top &&
  points.some(([x, y]) => x > left && x < right && y > top - CLEAR && y < bottom + CLEAR)

// Where along a line its label may stand, from the best place.
const PLACES = [0.5, 0.26, 0.74, 0.42, 0.58, 0.34, 0.66, 0.2, 0.8]

/** @typedef {{ width: number, height: number }} Size */

/**
 * The first box along a line, in one of the sizes that a label can have, that overlaps nothing; null if there is none.
 *
 * @template {Size} S
 * @param {Point[]} points
 * @param {S[]} sizes
 * @param {Box[]} taken
 * @returns {Box & { size: S } | null}
 */
export function placed(points, sizes, taken) {
  for (const size of sizes) {
    for (const part of PLACES) {
      const box = boxAround(points[Math.round(part * (points.length - 1))], size)
      if (!taken.some((other) => doOverlap(box, other))) return box
    }
  }
  return null
}

/**
 * @template {Size} S
 * @param {Point} middle
 * @param {S} size
 */
export const boxAround = ([x, y], size) => ({
  left: x - size.width / 2,
  top: y - size.height / 2,
  right: x + size.width / 2,
  bottom: y + size.height / 2,
  size,
})

/**
 * @param {Box} one
 * @param {Box} other
 */
export const doOverlap = (one, other) =>
  one.left < other.right && one.right > other.left && one.top < other.bottom && one.bottom > other.top
