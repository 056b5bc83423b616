// The nodes that an edge's line goes around, for the edges of a canvas.
import { createContext, useContext, useMemo } from 'react'
import { HEIGHT } from '../layout.js'
import { boxesAt, inTheWay, labelBox, routed } from './route.js'

/** @import { EdgeProps } from '@xyflow/react' */
/** @import { Places } from '../types' */
/** @import { Box } from './route.js' */

// After a run, a node has one more line.
const TALLEST = HEIGHT + 20
// From the label of one edge to that of another between the same nodes, below it.
const BETWEEN = 4

export const Boxes = createContext(/** @type {Map<string, Box>} */ (new Map()))

/** @param {Places} places */
export const tallBoxes = (places) => boxesAt(places, TALLEST)

/**
 * The line of an edge, and the middle of its label, whose size is about this.
 *
 * @param {Pick<EdgeProps, 'source' | 'target' | 'sourceX' | 'sourceY' | 'targetX' | 'targetY'>} edge
 * @param {number} width
 * @param {number} height
 * @param {number} nth of the edges between the same nodes
 */
export function useRoute({ source, target, sourceX, sourceY, targetX, targetY }, width, height, nth = 0) {
  const boxes = useContext(Boxes)
  return useMemo(() => {
    const { d, points } = routed([sourceX, sourceY], [targetX, targetY], inTheWay(boxes, { source, target }))
    const { left, top } = labelBox(points, [{ width, height }], [...boxes.values()])
    return { path: d, x: left + width / 2, y: top + height / 2 + nth * (height + BETWEEN) }
  }, [boxes, source, target, sourceX, sourceY, targetX, targetY, width, height, nth])
}
