// Every shortcut, once: the sheet shows this list, the command palette offers it, the canvas listens for it.
/**
 * @typedef {'add' | 'connect' | 'delete' | 'copy' | 'cut' | 'paste' | 'duplicate' | 'undo' | 'redo' | 'all' | 'next'
 *   | 'previous' | 'none' | 'fit' | 'zoomIn' | 'zoomOut' | 'layout' | 'layoutAll' | 'run' | 'save' | 'commands'
 *   | 'sheet'} ShortcutId
 */

/** @typedef {{ id: ShortcutId, keys: string, group: string, text: string, isElsewhere?: boolean }} Shortcut */

const MAC = /Mac|iPhone/.test(globalThis.navigator?.platform)

/** @type {Shortcut[]} isElsewhere: the page listens for it, not the canvas */
export const SHORTCUTS = [
  { id: 'add', keys: 'a', group: 'Compose', text: 'Add a node: search the palette' },
  { id: 'connect', keys: 'e', group: 'Compose', text: 'Connect the selected node to another' },
  { id: 'delete', keys: 'Delete', group: 'Compose', text: 'Delete what is selected' },
  { id: 'copy', keys: 'mod+c', group: 'Compose', text: 'Copy' },
  { id: 'cut', keys: 'mod+x', group: 'Compose', text: 'Cut' },
  { id: 'paste', keys: 'mod+v', group: 'Compose', text: 'Paste' },
  { id: 'duplicate', keys: 'mod+d', group: 'Compose', text: 'Duplicate' },
  { id: 'undo', keys: 'mod+z', group: 'Compose', text: 'Take back the last edit' },
  { id: 'redo', keys: 'mod+shift+z', group: 'Compose', text: 'Do it again' },
  { id: 'all', keys: 'mod+a', group: 'Select', text: 'Select everything' },
  { id: 'next', keys: 'alt+ArrowRight', group: 'Select', text: 'Select the next node downstream' },
  { id: 'previous', keys: 'alt+ArrowLeft', group: 'Select', text: 'Select the node upstream' },
  { id: 'none', keys: 'Escape', group: 'Select', text: 'Select nothing, close what is open' },
  { id: 'fit', keys: 'f', group: 'Look', text: 'Fit everything into view' },
  { id: 'zoomIn', keys: '+', group: 'Look', text: 'Zoom in' },
  { id: 'zoomOut', keys: '-', group: 'Look', text: 'Zoom out' },
  { id: 'layout', keys: 'l', group: 'Look', text: 'Lay out the selected nodes anew' },
  { id: 'layoutAll', keys: 'shift+l', group: 'Look', text: 'Lay out all nodes anew, also those placed by hand' },
  { id: 'run', keys: 'alt+Enter', group: 'Pipeline', text: 'Run', isElsewhere: true },
  { id: 'save', keys: 'mod+s', group: 'Pipeline', text: 'Save', isElsewhere: true },
  { id: 'commands', keys: 'mod+k', group: 'Help', text: 'Find a command or a node' },
  { id: 'sheet', keys: '?', group: 'Help', text: 'Show these shortcuts' },
]

/** @type {Record<string, string>} */
const SYNONYMS = { Backspace: 'Delete', 'mod+y': 'mod+shift+z', '=': '+', 'shift++': '+', 'shift+?': '?', '/': 'a' }

/**
 * The shortcut that was pressed, if there is one.
 *
 * @param {Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey' | 'shiftKey'>} event
 */
export function pressed(event) {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key
  const mod = event.ctrlKey || event.metaKey
  const written = `${mod ? 'mod+' : ''}${event.altKey ? 'alt+' : ''}${event.shiftKey ? 'shift+' : ''}${key}`
  const name = SYNONYMS[written] ?? written
  return SHORTCUTS.find((each) => each.keys === name && !each.isElsewhere)?.id
}

/** @type {Record<string, string>} */
const SIGNS = { mod: MAC ? '⌘' : 'Ctrl', alt: MAC ? '⌥' : 'Alt', shift: 'Shift', ArrowRight: '→', ArrowLeft: '←' }

/** @param {string} keys */
export const written = (keys) =>
  (keys === '+' ? ['+'] : keys.split('+')).map((part) => SIGNS[part] ?? (part.length === 1 ? part.toUpperCase() : part))
