// The places of the titles of open groups: within their frames where a title is lower than the room that is kept for it,
// else above or below them, where they overlap no node.
import { HEIGHT, WIDTH } from '../layout.js'
import { TITLE } from './groups.js'
import { doOverlap } from './route.js'

/** @import { Area, DrawnNode, FrameNode } from '../types' */

const HIGH = 20
const BUTTON = 30
const LETTER = 7
// A shorter title says nothing.
const LEAST = 48

/**
 * @param {FrameNode[]} framed
 * @param {DrawnNode[]} nodes
 * @param {number} zoom
 * @returns {FrameNode[]}
 */
export function titled(framed, nodes, zoom) {
  const scale = Math.max(1, 1 / zoom)
  const taken = nodes.map(({ position: { x, y }, measured }) => area(x, y, WIDTH, measured?.height ?? HEIGHT))
  return framed.map((frame) => {
    const { position, width = 0, height = 0, data } = frame
    const wide = Math.min(width, (BUTTON + data.name.length * LETTER) * scale)
    const high = HIGH * scale
    const tops = [...(high <= TITLE ? [1] : []), -high - 1, height + 1]
    const places = tops.flatMap((top) => [0, width - wide].map((left) => area(left, top, wide, high)))
    const onCanvas = (/** @type {Area} */ { left, top }) => area(position.x + left, position.y + top, wide, high)
    const title =
      wide < LEAST * scale ? null : places.find((each) => !taken.some((other) => doOverlap(onCanvas(each), other)))
    if (title) taken.push(onCanvas(title))
    return { ...frame, data: { ...data, title } }
  })
}

/**
 * @param {number} left
 * @param {number} top
 * @param {number} width
 * @param {number} height
 * @returns {Area}
 */
const area = (left, top, width, height) => ({ left, top, right: left + width, bottom: top + height })
