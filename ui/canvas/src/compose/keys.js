// All shortcuts: the sheet and the command palette show this list, and the canvas handles it.
/**
 * @typedef {'add' | 'connect' | 'delete' | 'copy' | 'cut' | 'paste' | 'duplicate' | 'undo' | 'redo' | 'all' | 'next'
 *   | 'previous' | 'none' | 'fit' | 'zoomIn' | 'zoomOut' | 'layout' | 'layoutAll' | 'picture' | 'fold' | 'foldAll' | 'group'
 *   | 'form' | 'ungroup' | 'run' | 'save' | 'commands' | 'sheet'} ShortcutId
 */

/** @typedef {{ id: ShortcutId, keys: string, group: string, text: string, isElsewhere?: boolean }} Shortcut */

const MAC = /Mac|iPhone/.test(globalThis.navigator?.platform)

/** @type {Shortcut[]} isElsewhere: the page listens for it, or the node with the focus */
export const SHORTCUTS = [
  { id: 'add', keys: 'a', group: 'Edit', text: 'Add a node (search the palette)' },
  { id: 'connect', keys: 'e', group: 'Edit', text: 'Connect the selected node to another' },
  { id: 'delete', keys: 'Delete', group: 'Edit', text: 'Delete the selection' },
  { id: 'copy', keys: 'mod+c', group: 'Edit', text: 'Copy' },
  { id: 'cut', keys: 'mod+x', group: 'Edit', text: 'Cut' },
  { id: 'paste', keys: 'mod+v', group: 'Edit', text: 'Paste' },
  { id: 'duplicate', keys: 'mod+d', group: 'Edit', text: 'Duplicate' },
  { id: 'undo', keys: 'mod+z', group: 'Edit', text: 'Undo' },
  { id: 'redo', keys: 'mod+shift+z', group: 'Edit', text: 'Redo' },
  { id: 'all', keys: 'mod+a', group: 'Select', text: 'Select all' },
  { id: 'next', keys: 'alt+ArrowRight', group: 'Select', text: 'Select the downstream node' },
  { id: 'previous', keys: 'alt+ArrowLeft', group: 'Select', text: 'Select the upstream node' },
  { id: 'form', keys: 'Enter', group: 'Select', text: 'Go to the form of the selected node', isElsewhere: true },
  { id: 'none', keys: 'Escape', group: 'Select', text: 'Clear the selection and close popups' },
  { id: 'fit', keys: 'f', group: 'View', text: 'Fit to view' },
  { id: 'zoomIn', keys: '+', group: 'View', text: 'Zoom in' },
  { id: 'zoomOut', keys: '-', group: 'View', text: 'Zoom out' },
  { id: 'layout', keys: 'l', group: 'View', text: 'Arrange the selected nodes automatically' },
  { id: 'layoutAll', keys: 'shift+l', group: 'View', text: 'Arrange all nodes automatically' },
  { id: 'picture', keys: 'i', group: 'View', text: 'Copy as a picture' },
  { id: 'group', keys: 'mod+g', group: 'Groups', text: 'Group the selected nodes' },
  { id: 'ungroup', keys: 'mod+shift+g', group: 'Groups', text: 'Take the group away, not its nodes' },
  { id: 'fold', keys: 'g', group: 'Groups', text: 'Fold or open the group' },
  { id: 'foldAll', keys: 'shift+g', group: 'Groups', text: 'Fold or open all groups' },
  { id: 'run', keys: 'alt+Enter', group: 'Pipeline', text: 'Run', isElsewhere: true },
  { id: 'save', keys: 'mod+s', group: 'Pipeline', text: 'Save', isElsewhere: true },
  { id: 'commands', keys: 'mod+k', group: 'Help', text: 'Search commands and nodes' },
  { id: 'sheet', keys: '?', group: 'Help', text: 'Show these shortcuts' },
]

/** @type {Record<string, string>} */
const SYNONYMS = { Backspace: 'Delete', 'mod+y': 'mod+shift+z', '=': '+', 'shift++': '+', 'shift+?': '?', '/': 'a' }

/**
 * The shortcut that was pressed, if any.
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

/**
 * The keys of a shortcut in a tooltip: Ctrl+Z.
 *
 * @param {ShortcutId} id
 */
export const hint = (id) => SHORTCUTS.flatMap((each) => (each.id === id ? written(each.keys) : [])).join('+')
