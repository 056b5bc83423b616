// Copy, paste, duplicate. The clipboard is in the browser's storage, so that another tab can paste from it.
import { useRef } from 'react'
import { copied, renamed } from '../document.js'

/** @import { Pipeline, Places, Post } from '../types' */
/** @import { Follow, Selection } from './selection.js' */

const KEY = 'changelog-studio-clipboard'
// The distance of a copy from the original, so that it does not cover it.
const ASIDE = 32

/**
 * @param {Pipeline} document
 * @param {Places} positions
 * @param {Selection} selection
 * @param {Post} act
 * @param {Follow} follow
 */
export function useClipboard(document, positions, selection, act, follow) {
  const pastes = useRef(0)

  /**
   * @param {Pipeline} piece
   * @param {Places} at
   * @param {number} aside
   */
  const putDown = (piece, at, aside) => {
    const twin = renamed(document, piece, at, aside)
    act({ kind: 'paste', ...twin })
    const names = twin.nodes.map((node) => node.id)
    follow(names, names.length === 1 ? names[0] : undefined)
  }

  /** Says whether there was something to copy. */
  const copy = () => {
    const piece = copied(document, selection.nodes)
    if (!piece.nodes.length) return false
    const at = Object.fromEntries(piece.nodes.map((node) => [node.id, positions[node.id]]))
    localStorage.setItem(KEY, JSON.stringify({ ...piece, at }))
    pastes.current = 0
    return true
  }

  const paste = () => {
    /** @type {(Pipeline & { at: Places }) | null} */
    const kept = JSON.parse(localStorage.getItem(KEY) ?? 'null')
    if (!kept?.nodes.length) return
    pastes.current += 1
    putDown(kept, kept.at, ASIDE * pastes.current)
  }

  const duplicate = () => {
    const piece = copied(document, selection.nodes)
    if (piece.nodes.length) putDown(piece, positions, ASIDE)
  }

  return { copy, paste, duplicate }
}
