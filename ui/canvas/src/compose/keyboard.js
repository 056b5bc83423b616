// The keys that the canvas handles, and those that it handles for the whole page.
import { useEffect } from 'react'
import { pickedBy } from '../graph/drawn.js'
import { useLatest } from '../graph/latest.js'
import { pressed } from './keys.js'

/** @import { Box } from '../types' */
/** @import { Commands } from './commands.js' */

const isTyping = (/** @type {EventTarget | undefined} */ target) =>
  target instanceof HTMLElement && (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.isContentEditable)

/**
 * @param {Box} box
 * @param {Commands} commands
 * @param {boolean} isCovered a dialog is open, and has the keys
 * @param {(names: string[]) => void} select
 */
export function useKeyboard(box, commands, isCovered, select) {
  /** @param {KeyboardEvent} event */
  const undoAnywhere = (event) => {
    const name = pressed(event)
    if (name !== 'undo' && name !== 'redo') return
    const path = event.composedPath()
    if (isCovered || isTyping(path[0]) || (box.current && path.includes(box.current))) return
    event.preventDefault()
    commands[name]()
  }

  // Undo and redo work on the whole page, except in a field that is being edited, which has its own.
  const listener = useLatest(undoAnywhere)
  useEffect(() => {
    const listen = (/** @type {KeyboardEvent} */ event) => listener.current(event)
    window.addEventListener('keydown', listen)
    return () => window.removeEventListener('keydown', listen)
  }, [listener])

  /** @param {import('react').KeyboardEvent} event */
  const onKeyDown = (event) => {
    if (isTyping(event.target) || isCovered) return
    // Streamlit's own hot keys: r reruns the app, c opens a dialog.
    if (!event.ctrlKey && !event.metaKey && /^[rc]$/i.test(event.key)) event.stopPropagation()
    const picked = pickedBy(event)
    if (picked) {
      event.preventDefault()
      return select([picked])
    }
    const name = pressed(event)
    if (!name) return
    event.preventDefault()
    event.stopPropagation()
    commands[name]()
  }

  return onKeyDown
}
