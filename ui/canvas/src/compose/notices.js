// The messages of the canvas: the explanation under the pointer, a node's problems, why a connection was refused.
import { useCallback, useRef, useState } from 'react'
import { edgeKey } from '../document.js'
import { modeText } from '../graph/kinds.js'

/** @import { CanvasData, EdgeFacts, Pipeline, PipelineEdge, Pointed, Post, Refusal } from '../types' */
/** @import { NoteContent, TipContent } from './Notes.jsx' */
/** @import { Viewport } from './viewport.js' */

const HOVER_MS = 250

/**
 * The facts about an edge. A new edge has the mode of its source until Python has answered.
 *
 * @param {CanvasData} data
 * @param {PipelineEdge} edge
 * @returns {EdgeFacts | undefined}
 */
export function edgeFacts(data, edge) {
  const mode = data.nodes[edge.source]?.mode
  return data.edges[edgeKey(edge)] ?? (mode && { mode })
}

/** @param {EdgeFacts | undefined} facts */
export const modeSuffix = (facts) => (facts?.mode ? `, ${modeText(facts.mode)}` : '')

/**
 * The explanation of what is under the pointer.
 *
 * @param {CanvasData} data
 * @param {Pipeline} document
 */
export function useTip(data, document) {
  const [at, setAt] = useState(/** @type {(Pointed & { x: number, y: number }) | null} */ (null))
  const timer = useRef(/** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined))

  const hover = useCallback((/** @type {Pointed | null} */ pointed) => {
    clearTimeout(timer.current)
    if (!pointed) return setAt(null)
    const { clientX: x, clientY: y } = pointed.event
    timer.current = setTimeout(() => setAt({ ...pointed, x, y }), HOVER_MS)
  }, [])

  /** @returns {TipContent | null} */
  const content = () => {
    if (!at) return null
    const { x, y } = at
    if (at.node) return { x, y, title: at.node, facts: data.nodes[at.node] ?? {} }
    const edge = document.edges.find((each) => edgeKey(each) === at.edge)
    const title = edge && `${edge.source} → ${edge.target}${modeSuffix(edgeFacts(data, edge))}`
    return { x, y, title, facts: data.edges[at.edge ?? ''] ?? {} }
  }

  return { hover, tip: content() }
}

/**
 * The one note over the canvas. A node's problems come first, then a connection that Python refused, then one that was
 * refused here.
 *
 * @param {CanvasData['nodes']} facts
 * @param {Refusal | null} refused
 * @param {() => void} dismiss forget what Python refused
 */
export function useNotes(facts, refused, dismiss) {
  const [shown, setShown] = useState(/** @type {string | null} */ (null)) // the node whose problems are listed
  const [own, setOwn] = useState(/** @type {{ sentence: string, node: string } | null} */ (null))

  const showProblems = useCallback((/** @type {string | null} */ node) => setShown(node), [])
  const refuse = (/** @type {string} */ sentence, /** @type {string} */ node) => {
    setShown(null)
    setOwn({ sentence, node })
  }
  const clear = () => {
    setOwn(null)
    setShown(null)
    dismiss()
  }

  /**
   * @param {Viewport} viewport
   * @param {Post} act
   * @param {() => void} focus
   * @returns {NoteContent | null}
   */
  const note = (viewport, act, focus) => {
    const problems = shown === null ? undefined : facts[shown]?.problems
    if (shown !== null && problems?.length) {
      return {
        label: `Problems in ${shown}`,
        at: viewport.near(shown),
        entries: problems,
        fix: (label) => act({ kind: 'fix', node: shown, label }),
        close: () => setShown(null),
      }
    }
    const label = 'Connection rejected'
    if (refused) {
      return {
        label,
        at: viewport.near(refused.target),
        entries: [refused],
        fix: (text) => act({ kind: 'fix', node: '', label: text }),
        close: () => {
          dismiss()
          focus()
        },
      }
    }
    if (!own) return null
    return {
      label,
      at: viewport.near(own.node),
      entries: [own],
      close: () => {
        setOwn(null)
        focus()
      },
    }
  }

  return { showProblems, refuse, clear, note }
}
