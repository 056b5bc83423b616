// Which part of the pipeline is in view, and where a node is on the screen.
import { useCallback, useEffect, useRef } from 'react'
import { useNodesInitialized, useUpdateNodeInternals } from '@xyflow/react'
import { LEAST_PRESENTED, MOST_PRESENTED, followed, seenAs } from '../graph/camera.js'
import { useLatest } from '../graph/latest.js'
import { HEIGHT, WIDTH } from '../layout.js'
import { held, shrunk } from './staying.js'

/** @import { Box, DrawnNode, Flow, Gesture, Places } from '../types' */

/** @typedef {ReturnType<typeof useViewport>} Viewport */

const PRESSES = /** @type {const} */ (['pointerdown', 'pointerup', 'pointercancel'])
// Nodes keep clear of the buttons along the top and of the zoom buttons at the left, in px.
const ROOM = { top: 56, left: 56, right: 28, bottom: 28 }
export const FORM = '.st-key-bench-panel'
const FORM_MS = 5000
const LOOK_MS = 120

/** The focus goes to the first field of the form. */
export function enterForm() {
  const field = document.querySelector(`${FORM} :is(input, textarea)`)
  if (field instanceof HTMLElement) field.focus()
}

export const isFormOpen = () => document.querySelector(FORM) !== null

/**
 * What lies over an area, in px from its left and its right side: the palette, and the form of the page.
 *
 * @param {Box} box
 * @param {DOMRect} area
 */
function covered(box, area) {
  const palette = box.current?.querySelector('.palette')?.getBoundingClientRect()
  const form = document.querySelector(FORM)?.getBoundingClientRect()
  // On a phone the form is below the canvas.
  const isOver = form && form.top < area.bottom && form.width < area.width
  return { left: palette?.width ?? 0, right: isOver ? Math.max(0, area.right - form.left) : 0 }
}

/**
 * @param {Flow} flow
 * @param {Box} box
 * @param {Places} positions
 * @param {Set<string>} placed the nodes that somebody placed
 * @param {string | null} selected the node or edge whose form is shown
 * @param {boolean} isPresented for a room: where all would be too small to read, the node at hand is in view
 */
export function useViewport(flow, box, positions, placed, selected, isPresented) {
  const latest = useLatest(positions)
  const atHand = useLatest(selected)
  const laidOut = useRef({ positions, placed })
  const keepsAll = useRef(false)
  // Whether the person has chosen what is in view. Until then, the whole pipeline is.
  const isChosen = useRef(false)
  const isEdited = useRef(false)
  const isMeasured = useNodesInitialized()

  // Nothing is measured before the first render.
  const area = useCallback(() => box.current?.querySelector('.flow')?.getBoundingClientRect(), [box])

  const isVisible = useCallback(
    (/** @type {Places} */ places, /** @type {DOMRect | undefined} */ seen = area()) => {
      if (!seen) return false
      const { x, y, zoom } = flow.getViewport()
      const over = covered(box, seen)
      return Object.values(places).every(
        ([left, top]) =>
          left * zoom + x >= over.left &&
          top * zoom + y >= 0 &&
          (left + WIDTH) * zoom + x <= seen.width - over.right &&
          (top + HEIGHT) * zoom + y <= seen.height,
      )
    },
    [area, box, flow],
  )

  // On an empty canvas, React Flow would wait for the first node, and then move it away from the pointer.
  const fit = useCallback(
    (duration = 200) => {
      const seen = area()
      if (!seen || !Object.keys(latest.current).length) return
      const ends = endsOf(latest.current, atHand.current)
      const [part] = isPresented ? followed(latest.current, ends, seen, LEAST_PRESENTED) : []
      if (part) return void flow.setViewport(seenAs(part, seen), { duration })
      const over = covered(box, seen)
      const room = { ...ROOM, left: ROOM.left + over.left, right: ROOM.right + over.right }
      const sides = Object.entries(room).map(([side, px]) => [side, `${px}px`])
      flow.fitView({ duration, padding: Object.fromEntries(sides), maxZoom: isPresented ? MOST_PRESENTED : 1 })
    },
    [area, box, flow, latest, atHand, isPresented],
  )

  /** Put everything in view; the node around which it is done stays where it is seen, if it can. */
  const fitAround = useCallback(
    (/** @type {string | undefined} */ id) => {
      const seen = area()
      const view = flow.getViewport()
      const { left, right } = seen ? covered(box, seen) : { left: 0, right: 0 }
      const room = seen && { left, top: 0, right: seen.width - right, bottom: seen.height }
      const smaller = id && latest.current[id] && room ? shrunk(view, latest.current, id, room) : null
      if (smaller) flow.setViewport(smaller, { duration: 200 })
      else fit()
    },
    [area, box, fit, flow, latest],
  )

  // The node at which the person is, under the pointer or selected, stays where it is seen when the layout moves it. If the
  // whole pipeline was in view before an edit, it is in view after it.
  useEffect(() => {
    const before = laidOut.current
    laidOut.current = { positions, placed }
    const under = /** @type {HTMLElement | null | undefined} */ (box.current?.querySelector('.react-flow__node:hover'))
    const isMoved = (/** @type {string | null | undefined} */ id) =>
      id && before.positions[id] && positions[id] && !before.placed.has(id) && !placed.has(id)
    // Of an edge, the node from which it comes.
    const id = [under?.dataset.pick, selected, selected?.split(/[.>]/)[0]].find(isMoved) ?? undefined
    if (id && before.positions !== positions)
      flow.setViewport(held(flow.getViewport(), before.positions[id], positions[id]))
    if (!keepsAll.current || isVisible(positions)) return
    const later = setTimeout(() => fitAround(id), 60)
    return () => clearTimeout(later)
    // Not when somebody selects a node.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [positions, isVisible, fitAround])

  useEffect(() => {
    const later = setTimeout(() => fit(0), 50)
    return () => clearTimeout(later)
  }, [fit])

  // The nodes of a pipeline that is opened may come, or be measured, after that.
  useEffect(() => {
    if (isMeasured && !isChosen.current && !isEdited.current) fit(0)
  }, [isMeasured, fit])

  // In a presentation the view goes along with what is selected.
  useEffect(() => {
    if (isPresented && selected) fit()
  }, [isPresented, selected, fit])

  // The same holds when the panel or the drawer resizes the canvas. But nothing moves under a pressed button.
  useEffect(() => {
    const flowing = box.current?.querySelector('.flow')
    if (!flowing) return
    let isPressed = false
    let before = flowing.getBoundingClientRect()
    /** @type {ReturnType<typeof setTimeout>} */
    let later
    const fitted = () => {
      if (isPressed) later = setTimeout(fitted, 60)
      else fit(0)
    }
    const watch = new ResizeObserver(() => {
      const sawAll = !isChosen.current || isVisible(latest.current, before)
      before = flowing.getBoundingClientRect()
      if (!sawAll) return
      clearTimeout(later)
      later = setTimeout(fitted, 30)
    })
    const press = (/** @type {PointerEvent} */ event) => {
      isPressed = event.type === 'pointerdown'
    }
    watch.observe(flowing)
    for (const type of PRESSES) window.addEventListener(type, press, true)
    return () => {
      watch.disconnect()
      clearTimeout(later)
      for (const type of PRESSES) window.removeEventListener(type, press, true)
    }
  }, [box, fit, isVisible, latest])

  // The form of a node or an edge opens over the canvas, once Python has drawn it. It hides neither the node nor the ends of
  // the edge.
  useEffect(() => {
    if (!selected || isPresented) return
    const ends = endsOf(latest.current, selected)
    let left = FORM_MS
    const look = () => {
      // A node that has just come has no place yet.
      const places = ends.map((id) => latest.current[id]).filter(Boolean)
      const seen = area()
      if (!places.length || !seen) return
      if (!isFormOpen() && left > 0) {
        left -= LOOK_MS
        later = setTimeout(look, LOOK_MS)
        return
      }
      const at = places.reduce((one, other) => (other[0] > one[0] ? other : one))
      const { x, y, zoom } = flow.getViewport()
      const right = (at[0] + WIDTH) * zoom + x
      const edge = seen.width - covered(box, seen).right - ROOM.right
      if (right > edge && at[0] * zoom + x < seen.width)
        flow.setViewport({ x: x + edge - right, y, zoom }, { duration: 150 })
    }
    let later = setTimeout(look, LOOK_MS)
    return () => clearTimeout(later)
  }, [selected, isPresented, area, box, flow, latest])

  /**
   * Call before an edit: notes whether the whole pipeline has to be in view after it. Not if the person chose a place.
   *
   * @param {Gesture} gesture
   */
  const prepare = (gesture) => {
    isEdited.current = true
    const isPlacing = gesture.kind === 'move' || gesture.kind === 'paste' || (gesture.kind === 'add' && gesture.place)
    keepsAll.current = !isPlacing && isVisible(latest.current)
  }

  /** @param {string} id a node that was added, and may be out of view once it is laid out */
  const reveal = (id) =>
    setTimeout(() => {
      const at = latest.current[id]
      if (!at || keepsAll.current || isVisible({ [id]: at })) return
      flow.setCenter(at[0] + WIDTH / 2, at[1] + HEIGHT / 2, { zoom: flow.getZoom(), duration: 200 })
    }, 60)

  /**
   * The place of a note about a node: below the node and inside the canvas.
   *
   * @param {string} id
   */
  const near = (id) => {
    const at = positions[id]
    const seen = area()
    if (!at || !seen) return { left: 16, top: 16 }
    const spot = flow.flowToScreenPosition({ x: at[0], y: at[1] + HEIGHT + 8 })
    return { left: within(spot.x - seen.left, seen.width - 340), top: within(spot.y - seen.top, seen.height - 150) }
  }

  const choose = () => {
    isChosen.current = true
  }

  /** Call after the nodes have moved: the whole pipeline stays in view, unless the person chose what is. */
  const keep = () => {
    if (!isChosen.current) fit(150)
  }

  return { fit, prepare, reveal, near, choose, keep }
}

/**
 * A node, or the ends of an edge.
 *
 * @param {Places} places
 * @param {string | null} selected
 */
const endsOf = (places, selected) =>
  (selected && places[selected] ? [selected] : (selected ?? '').split('>').map((end) => end.split(/[.:]/)[0])).filter(
    (id) => places[id],
  )

/**
 * @param {number} value
 * @param {number} most
 */
const within = (value, most) => Math.min(Math.max(value, 8), Math.max(8, most))

/**
 * Measure nodes that React Flow missed: a node that is removed and comes back at once has no handles, so its edges are
 * not drawn.
 *
 * @param {Flow} flow
 * @param {DrawnNode[]} nodes
 */
export function useMeasuring(flow, nodes) {
  const measure = useUpdateNodeInternals()
  useEffect(() => {
    const look = () => {
      const bare = nodes.map((node) => node.id).filter((id) => !flow.getInternalNode(id)?.internals.handleBounds)
      if (!bare.length) return
      measure(bare)
      later = setTimeout(look, 150)
    }
    let later = setTimeout(look, 100)
    return () => clearTimeout(later)
  }, [nodes, flow, measure])
}
