// The messages of the canvas: the explanation under the pointer, a node's problems, why a connection was refused.
import { useCallback, useMemo, useRef, useState } from 'react'
import { edgeKey } from '../document.js'
import { groupNamed, members } from '../grouping.js'

/** @import { CanvasData, Catalog, DrawnPipeline, EdgeFacts, Pipeline, PipelineEdge, Pointed, Post, Refusal } from '../types' */
/** @import { NoteContent } from './Notes.jsx' */
/** @import { TipContent } from './Tip.jsx' */
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
export const modeSuffix = (facts) => (facts?.mode ? `, ${facts.mode.join(' ')}` : '')

/**
 * The explanation of what is under the pointer.
 *
 * @param {CanvasData} data
 * @param {Pipeline} document
 * @param {DrawnPipeline} drawn
 * @param {Catalog} catalog
 */
export function useTip(data, document, drawn, catalog) {
  const [at, setAt] = useState(/** @type {(Pointed & { x: number, y: number }) | null} */ (null))
  const timer = useRef(/** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined))

  const hover = useCallback((/** @type {Pointed | null} */ pointed) => {
    clearTimeout(timer.current)
    if (!pointed) return setAt(null)
    const { clientX: x, clientY: y } = pointed.event
    timer.current = setTimeout(() => setAt({ ...pointed, x, y }), HOVER_MS)
  }, [])

  /** @type {TipContent | null} */
  const tip = useMemo(() => {
    if (!at) return null
    const { node, edge } = at
    const here = drawn.edges.filter(({ source, target, of }) =>
      node ? source === node || target === node : edgeKey(of) === edge,
    )
    const ends = here.flatMap(({ source, target }) => [source, target])
    if (!node) {
      const mode = here.length ? modeSuffix(edgeFacts(data, here[0].of)) : ''
      const title = here.map(({ of }) => `${of.source} → ${of.target}${mode}`).join()
      return { at, title, facts: data.edges[edge ?? ''] ?? {}, of: [edge ?? '', ...ends] }
    }
    const of = [node, ...ends, ...here.map((each) => edgeKey(each.of))]
    const group = groupNamed(node)
    if (group !== undefined) return { at, title: group, what: members(document, group).join(', '), facts: {}, of }
    const facts = data.nodes[node] ?? {}
    const operator = drawn.nodes.find(({ id }) => id === node)?.operator ?? ''
    return { at, title: node, what: [catalog[operator]?.title, facts.hint].filter(Boolean).join(': '), facts, of }
  }, [at, data, document, drawn, catalog])

  return { hover, tip }
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
