// The lines of all edges from port to port, and the places of their labels. A label overlaps no node, no port, no arrow,
// no title of a group and no other label: where it has no room, it gets smaller, and at last there is none.
import { useMemo, useRef } from 'react'
import { HEIGHT, WIDTH } from '../layout.js'
import { MARGIN } from './camera.js'
import { inTheWay, placed, routed } from './route.js'

/** @import { Edge } from '@xyflow/react' */
/** @import { DrawnNode, Form, FrameNode, Line } from '../types' */
/** @import { Box, Point } from './route.js' */

// From the side of a node to the end of a line, beyond its port.
const PORT = 7
// The length of an arrow, and half its height.
const ARROW = 10
const HALF = 8
// A mark of problems is as high as a node at most, however far away it is.
const MARK = 22
const LARGEST_MARK = 3

/** @typedef {{ outputs: string[], ports: string[], box: Box }} Standing */

/**
 * The edges, each with its line. An edge whose line is the same as before stays the same object.
 *
 * @template {Edge} E
 * @param {DrawnNode[]} nodes
 * @param {E[]} edges
 * @param {FrameNode[]} framed whose titles have their places
 * @param {(edge: E, zoom: number) => Form[]} forms that the label of an edge can have, from the best
 * @param {number} zoom
 * @param {number} [view] the height of the canvas, in units of the graph, where it shows the graph's middle: no label
 *   reaches out of it
 * @returns {E[]}
 */
export function useLines(nodes, edges, framed, forms, zoom, view) {
  const known = useRef(/** @type {Map<string, { edge: E, text: string, drawn: E }>} */ (new Map()))
  return useMemo(() => {
    const found = lines(nodes, edges, framed, forms, zoom, view)
    const before = known.current
    known.current = new Map()
    return edges.map((edge) => {
      const line = found.get(edge.id)
      const text = JSON.stringify(line)
      const old = before.get(edge.id)
      const drawn = old?.edge === edge && old.text === text ? old.drawn : { ...edge, data: { ...edge.data, line } }
      known.current.set(edge.id, { edge, text, drawn })
      return drawn
    })
  }, [nodes, edges, framed, forms, zoom, view])
}

/**
 * @template {Edge} E
 * @param {DrawnNode[]} nodes
 * @param {E[]} edges
 * @param {FrameNode[]} framed
 * @param {(edge: E, zoom: number) => Form[]} forms
 * @param {number} zoom
 * @param {number} [view]
 * @returns {Map<string, Line>}
 */
export function lines(nodes, edges, framed, forms, zoom, view) {
  const standing = new Map(nodes.map((node) => [node.id, stands(node)]))
  const boxes = new Map([...standing].map(([id, { box }]) => [id, box]))
  const routes = edges.flatMap((edge) => {
    const [from, to] = [standing.get(edge.source), standing.get(edge.target)]
    if (!from || !to) return []
    const begin = port(from.box.right + PORT, from.box, from.outputs, edge.sourceHandle)
    const end = port(to.box.left - PORT, to.box, to.ports, edge.targetHandle)
    return [{ edge, begin, end, route: routed(begin, end, inTheWay(boxes, edge)) }]
  })
  const taken = [
    ...boxes.values(),
    ...(view ? beyond([...boxes.values()], view) : []),
    ...nodes.flatMap((node) => (node.data.facts.problems?.length ? [mark(boxes.get(node.id), zoom)] : [])),
    ...framed.flatMap(({ data: { title }, position: { x, y } }) => (title ? [movedBy(title, x, y)] : [])),
    ...routes.flatMap(({ begin: [x, y], end: [toX, toY] }) => [
      { left: x - PORT, top: y - HALF, right: x + 2, bottom: y + HALF },
      { left: toX - ARROW, top: toY - HALF, right: toX + PORT, bottom: toY + HALF },
    ]),
  ]
  return new Map(
    routes.map(({ edge, route: { d, points } }) => {
      const label = placed(points, forms(edge, zoom), taken)
      if (label) taken.push(label)
      const [x, y] = points[Math.floor(points.length / 2)]
      return [edge.id, { d, x, y, label }]
    }),
  )
}

/**
 * @param {DrawnNode} node
 * @returns {Standing}
 */
function stands({ position: { x, y }, measured, data: { group, facts, catalog } }) {
  return {
    outputs: group ? group.outputs.map((each) => each.port) : (facts.outputs ?? ['out']),
    ports: group ? group.ports : (catalog?.ports ?? []),
    box: { left: x, top: y, right: x + WIDTH, bottom: y + (measured?.height ?? HEIGHT) },
  }
}

/**
 * @param {number} x
 * @param {Box} box
 * @param {string[]} names
 * @param {string | null | undefined} name
 * @returns {Point}
 */
const port = (x, { top, bottom }, names, name) => [
  x,
  top + ((bottom - top) * (Math.max(0, names.indexOf(name ?? '')) + 1)) / (Math.max(1, names.length) + 1),
]

/**
 * What is above and below a canvas that shows the middle of a graph, or all its height by and by.
 *
 * @param {Box[]} boxes
 * @param {number} view
 * @returns {Box[]}
 */
function beyond(boxes, view) {
  const [top, bottom] = [Math.min(...boxes.map((box) => box.top)), Math.max(...boxes.map((box) => box.bottom))]
  const half = Math.max(view, bottom - top + 2 * MARGIN) / 2
  const middle = (top + bottom) / 2
  const wide = { left: -Infinity, right: Infinity }
  return [
    { ...wide, top: -Infinity, bottom: middle - half },
    { ...wide, top: middle + half, bottom: Infinity },
  ]
}

/**
 * The mark of problems at the upper right corner of a node.
 *
 * @param {Box | undefined} box
 * @param {number} zoom
 * @returns {Box}
 */
function mark(box = { left: 0, top: 0, right: 0, bottom: 0 }, zoom) {
  const half = (MARK * Math.min(LARGEST_MARK, Math.max(1, 0.85 / zoom))) / 2
  return {
    left: box.right - 1 - half,
    top: box.top + 1 - half,
    right: box.right - 1 + half,
    bottom: box.top + 1 + half,
  }
}

/**
 * @param {Box} box
 * @param {number} x
 * @param {number} y
 * @returns {Box}
 */
const movedBy = ({ left, top, right, bottom }, x, y) => ({
  left: left + x,
  top: top + y,
  right: right + x,
  bottom: bottom + y,
})
