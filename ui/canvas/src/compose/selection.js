// The selection: nodes by their ids, groups by theirs (their nodes are selected with them), edges by their keys.
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { edgeKey } from '../document.js'
import { around, groupId, groupNamed } from '../grouping.js'

/** @import { EdgeChange, NodeChange } from '@xyflow/react' */
/** @import { Pipeline, Post } from '../types' */

/** @typedef {ReturnType<typeof useSelection>} Selection */
/** @typedef {(names: string[], what?: string | null) => void} Follow names: what an edit selects; what: for Python */

/**
 * @param {Pipeline} document
 * @param {string | null} theirs what Python has selected
 * @param {boolean} isSettled Python has heard everything
 * @param {Post} post
 */
export function useSelection(document, theirs, isSettled, post) {
  const [chosen, setChosen] = useState(() => new Set(theirs ? [theirs] : []))
  // React Flow can report several changes before the next render; each is applied to the result of the one before.
  const latest = useRef(chosen)
  // Python's selection, or what it will be once Python has received all messages.
  const expected = useRef(theirs)

  const show = useCallback((/** @type {Iterable<string>} */ names) => {
    latest.current = new Set(names)
    setChosen(latest.current)
  }, [])

  // Python selects as well (a problem's "Show", an undo): follow it once Python has received all messages.
  useEffect(() => {
    if (isSettled && theirs !== expected.current) {
      expected.current = theirs
      show(theirs ? [theirs] : [])
    }
  }, [isSettled, theirs, show])

  /** The person selects: Python is told of a single thing, whose form it shows. */
  const select = useCallback(
    (/** @type {string[]} */ names) => {
      show(names)
      if (names.length === 1 && names[0] !== expected.current) {
        expected.current = names[0]
        post({ kind: 'select', what: names[0] })
      }
    },
    [post, show],
  )

  /** The person selects nothing. isFormOpen: the pipeline's form may be open without a selection, and closes too. */
  const clear = useCallback(
    (/** @type {boolean} */ isFormOpen) => {
      show([])
      if (expected.current === null && !isFormOpen) return
      expected.current = null
      post({ kind: 'select', what: null })
    },
    [post, show],
  )

  /** An edit selects: Python hears the edit and selects the same. */
  const follow = useCallback(
    (/** @type {string[]} */ names, /** @type {string | null} */ what = expected.current) => {
      expected.current = what
      show(names)
    },
    [show],
  )

  /** React Flow selects: a click, a rectangle, the keys Shift and Ctrl. Says whether these changes select anything. */
  const take = useCallback(
    (/** @type {(NodeChange | EdgeChange)[]} */ changes) => {
      const picked = changes.flatMap((each) => (each.type === 'select' ? [each] : []))
      if (!picked.length) return false
      const kept = [...latest.current].filter((name) => !picked.some((each) => each.id === name))
      select([...new Set([...kept, ...picked.filter((each) => each.selected).map((each) => each.id)])])
      return true
    },
    [select],
  )

  const nodes = useMemo(() => {
    const isChosen = (/** @type {import('../types').PipelineNode} */ { id, group }) =>
      chosen.has(id) || around(document, group).some((name) => chosen.has(groupId(name)))
    return document.nodes.filter(isChosen).map((node) => node.id)
  }, [document, chosen])
  const edges = useMemo(() => document.edges.map(edgeKey).filter((key) => chosen.has(key)), [document.edges, chosen])
  const groups = useMemo(() => [...chosen].flatMap((id) => groupNamed(id) ?? []), [chosen])
  return { chosen, nodes, groups, edges, select, clear, follow, take }
}
