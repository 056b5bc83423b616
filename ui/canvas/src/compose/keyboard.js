// The keys that the canvas handles, and those that it handles for the whole page.
import { useEffect } from 'react'
import { pickedBy } from '../graph/drawn.js'
import { useLatest } from '../graph/latest.js'
import { pressed } from './keys.js'

/** @import { Box } from '../types' */
/** @import { Commands } from './commands.js' */
/** @import { ShortcutId } from './keys.js' */

const RUN = '.st-key-run button'

const isTyping = (/** @type {EventTarget | undefined} */ target) =>
  target instanceof HTMLElement && (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.isContentEditable)

/**
 * @param {Box} box
 * @param {Commands} commands
 * @param {boolean} isCovered a dialog is open, and has the keys
 * @param {Set<string>} chosen
 * @param {(names: string[]) => void} select
 */
export function useKeyboard(box, commands, isCovered, chosen, select) {
  /** @param {KeyboardEvent} event */
  const heardAnywhere = (event) => {
    // The page's button does nothing while it is disabled: say why.
    const isRun = event.altKey && event.key === 'Enter' && !isCovered
    if (isRun && document.querySelector(`${RUN}:disabled`)) return commands.run()
    const name = pressed(event)
    if (!name || isCovered || event.defaultPrevented) return
    const [target] = event.composedPath()
    /** @type {Partial<Record<ShortcutId, boolean>>} */
    const isOurs = {
      commands: true,
      // A field that is being edited has its own undo and redo.
      undo: !isTyping(target),
      redo: !isTyping(target),
      // Nothing has the focus: so begins a page, whose canvas says to press A.
      add: target === document.body,
      sheet: target === document.body,
    }
    if (!isOurs[name]) return
    event.preventDefault()
    commands[name]()
  }

  // They work on the whole page.
  const listener = useLatest(heardAnywhere)
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
      return chosen.has(picked) ? commands.form() : select([picked])
    }
    // The node that was just added is selected, while the canvas has the focus.
    if (event.key === 'Enter' && event.target === box.current && chosen.size === 1) {
      event.preventDefault()
      return commands.form()
    }
    const name = pressed(event)
    if (!name) return
    event.preventDefault()
    event.stopPropagation()
    commands[name]()
  }

  // React Flow moves a selected node by the arrow keys, also with Alt.
  const onKeyDownCapture = (/** @type {import('react').KeyboardEvent} */ event) => {
    if (event.altKey && event.key.startsWith('Arrow')) onKeyDown(event)
  }

  return { onKeyDown, onKeyDownCapture }
}
