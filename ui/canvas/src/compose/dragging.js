// Dragging: operators from the palette, nodes to another place or onto an edge. The arrow keys move nodes as well.
import { useRef, useState } from 'react'
import { useLatest } from '../graph/latest.js'
import { HEIGHT, WIDTH, pinned } from '../layout.js'
import { DRAGGED } from './Palette.jsx'

/** @import { NodeChange } from '@xyflow/react' */
/** @import { DragEvent } from 'react' */
/** @import { Catalog, DrawnNode, Flow, Pipeline, Places, Post, Spot } from '../types' */

// All presses of arrow keys are one edit, which ends when no key was pressed for this long.
const REST_MS = 350

/**
 * @param {object} canvas
 * @param {Flow} canvas.flow
 * @param {DocumentOrShadowRoot} canvas.shadow what the canvas is drawn in
 * @param {Pipeline} canvas.document
 * @param {Places} canvas.positions
 * @param {Catalog} canvas.catalog
 * @param {Post} canvas.act
 * @param {(operator: string, place: Spot, edge: string | null) => void} canvas.add
 */
export function useDragging({ flow, shadow, document, positions, catalog, act, add }) {
  const [over, setOver] = useState(/** @type {string | null} */ (null)) // the edge that a drop would split
  const nudged = useRef(/** @type {{ places: Places, timer?: ReturnType<typeof setTimeout> }} */ ({ places: {} }))

  /**
   * @param {number} x
   * @param {number} y
   */
  const edgeAt = (x, y) => {
    for (const element of shadow.elementsFromPoint(x, y)) {
      const badges = /** @type {HTMLElement | null} */ (element.closest('[data-edge]'))
      const line = /** @type {SVGElement | null} */ (element.closest('.react-flow__edge'))
      const found = badges?.dataset.edge ?? line?.dataset.pick
      if (found) return found
    }
    return null
  }

  /**
   * The edge into which a dragged operator without edges would be inserted: under the pointer, or under its middle.
   *
   * @param {MouseEvent | TouchEvent} event
   * @param {DrawnNode} node
   */
  const edgeUnder = (event, node) => {
    const isLone = !document.edges.some((edge) => edge.source === node.id || edge.target === node.id)
    if (!isLone || catalog[node.data.operator]?.role !== 'operator') return null
    const { x, y } = flow.flowToScreenPosition({
      x: node.position.x + WIDTH / 2,
      y: node.position.y + (node.measured?.height ?? HEIGHT) / 2,
    })
    return ('clientX' in event ? edgeAt(event.clientX, event.clientY) : null) ?? edgeAt(x, y)
  }

  /** @param {Places} places */
  const move = (places) => {
    const moved = pinned(document, positions, places, catalog)
    if (Object.keys(moved).length) act({ kind: 'move', places: moved })
  }
  // The timer below fires after later renders: it needs the document of that time.
  const moveLater = useLatest(move)

  /**
   * Handle the moves of the arrow keys, which are no drags.
   *
   * @param {NodeChange<DrawnNode>[]} changes
   * @param {DrawnNode[]} nodes
   */
  const nudge = (changes, nodes) => {
    const moved = changes.flatMap((each) => (each.type === 'position' && each.position ? [each] : []))
    if (!moved.some((each) => !each.dragging) || nodes.some((each) => each.dragging)) return
    for (const each of moved) if (each.position) nudged.current.places[each.id] = rounded(each.position)
    clearTimeout(nudged.current.timer)
    nudged.current.timer = setTimeout(() => {
      const { places } = nudged.current
      nudged.current = { places: {} }
      moveLater.current(places)
    }, REST_MS)
  }

  /**
   * @param {MouseEvent | TouchEvent | import('react').MouseEvent} event
   * @param {DrawnNode[]} dragged
   */
  const finish = (event, dragged) => {
    const native = 'nativeEvent' in event ? event.nativeEvent : event
    const edge = dragged.length === 1 ? edgeUnder(native, dragged[0]) : null
    setOver(null)
    if (edge) return act({ kind: 'insert', node: dragged[0].id, edge })
    move(Object.fromEntries(dragged.map((node) => [node.id, rounded(node.position)])))
  }

  const handlers = {
    onNodeDrag: (
      /** @type {MouseEvent | TouchEvent} */ event,
      /** @type {DrawnNode} */ _,
      /** @type {DrawnNode[]} */ dragged,
    ) => setOver(dragged.length === 1 ? edgeUnder(event, dragged[0]) : null),
    onNodeDragStop: (
      /** @type {MouseEvent | TouchEvent} */ event,
      /** @type {DrawnNode} */ _,
      /** @type {DrawnNode[]} */ dragged,
    ) => finish(event, dragged),
    onSelectionDragStop: finish,
    onDragOver: (/** @type {DragEvent} */ event) => {
      event.preventDefault()
      event.dataTransfer.dropEffect = 'copy'
      setOver(edgeAt(event.clientX, event.clientY))
    },
    onDragLeave: () => setOver(null),
    onDrop: (/** @type {DragEvent} */ event) => {
      const operator = event.dataTransfer.getData(DRAGGED)
      if (!operator) return
      event.preventDefault()
      setOver(null)
      const { x, y } = flow.screenToFlowPosition({ x: event.clientX, y: event.clientY })
      add(operator, rounded({ x: x - WIDTH / 2, y: y - HEIGHT / 2 }), edgeAt(event.clientX, event.clientY))
    },
  }

  return { over, nudge, handlers }
}

/**
 * @param {{ x: number, y: number }} position
 * @returns {Spot}
 */
const rounded = ({ x, y }) => [Math.round(x), Math.round(y)]
