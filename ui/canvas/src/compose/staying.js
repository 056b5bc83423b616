// How the view changes so that a node stays where it is seen.
import { HEIGHT, WIDTH } from '../layout.js'

/** @import { Viewport } from '@xyflow/react' */
/** @import { Places, Spot } from '../types' */

// Below this share of the zoom before, a person would lose more than the place of a node.
const LEAST = 0.5
const MARGIN = 12

/**
 * The view in which a node that was moved is where it was.
 *
 * @param {Viewport} view
 * @param {Spot} from
 * @param {Spot} to
 * @returns {Viewport}
 */
export const held = ({ x, y, zoom }, from, to) => ({
  x: x + (from[0] - to[0]) * zoom,
  y: y + (from[1] - to[1]) * zoom,
  zoom,
})

/**
 * The largest view, at most as large as now, in which all nodes are within the room while the middle of one stays where it
 * is; null if they would be too small.
 *
 * @param {Viewport} view
 * @param {Places} places
 * @param {string} id the node that stays
 * @param {{ left: number, top: number, right: number, bottom: number }} room in px of the view
 * @returns {Viewport | null}
 */
export function shrunk({ x, y, zoom }, places, id, room) {
  const [left, top] = places[id]
  const middle = { x: left + WIDTH / 2, y: top + HEIGHT / 2 }
  const seen = { x: middle.x * zoom + x, y: middle.y * zoom + y }
  let found = zoom
  /**
   * @param {number} reach from the middle, in px of the graph
   * @param {number} space in px of the view
   */
  const keep = (reach, space) => {
    if (reach > 0) found = Math.min(found, (space - MARGIN) / reach)
  }
  for (const [nodeLeft, nodeTop] of Object.values(places)) {
    keep(middle.x - nodeLeft, seen.x - room.left)
    keep(nodeLeft + WIDTH - middle.x, room.right - seen.x)
    keep(middle.y - nodeTop, seen.y - room.top)
    keep(nodeTop + HEIGHT - middle.y, room.bottom - seen.y)
  }
  if (found < zoom * LEAST) return null
  return { x: seen.x - middle.x * found, y: seen.y - middle.y * found, zoom: found }
}
