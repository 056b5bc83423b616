// The commands that need no mouse: by a shortcut, a button, or the list that Ctrl+K opens.
import { SHORTCUTS } from './keys.js'

/** @import { CanvasData, Catalog, CatalogEntry, Command, Pipeline } from '../types' */
/** @import { Gestures } from './gestures.js' */
/** @import { ShortcutId } from './keys.js' */

// Opens the glossary of the page, at a term.
const GLOSSARY = 'changelog-studio-glossary'
// Goes to another page.
const PAGE = 'changelog-studio-page'

/** @typedef {Record<ShortcutId, () => void>} Commands */

/**
 * The entries of the command palette.
 *
 * @param {Commands} commands
 * @param {Gestures} gestures
 * @param {CatalogEntry[]} operators
 * @param {Command[]} connections
 * @param {Command[]} places
 * @param {Pick<CanvasData, 'terms' | 'pages'>} page
 * @returns {Command[]}
 */
export const allCommands = (commands, gestures, operators, connections, places, { terms, pages }) => [
  ...SHORTCUTS.filter((each) => each.id !== 'commands').map((each) => ({
    text: each.text,
    keys: each.keys,
    run: commands[each.id],
  })),
  ...operators.map((each) => ({
    text: `Add ${each.title}`,
    alsoCalled: each.alsoCalled.join(' '),
    run: () => gestures.add(each.operator),
  })),
  ...connections,
  ...places,
  ...pages.map(({ name, title }) => ({
    text: `Go to the page ${title}`,
    called: title,
    run: () => void window.dispatchEvent(new CustomEvent(PAGE, { detail: name })),
  })),
  ...terms.map(({ name, words }) => ({
    text: `What is ${name}?`,
    alsoCalled: `${words} glossary term`,
    run: () => void window.dispatchEvent(new CustomEvent(GLOSSARY, { detail: name })),
  })),
]

/**
 * A command for every input that the selected node can be connected to.
 *
 * @param {Pipeline} document
 * @param {Catalog} catalog
 * @param {string[]} selected
 * @param {Gestures} gestures
 * @returns {Command[]}
 */
export function connectionCommands(document, catalog, selected, gestures) {
  if (selected.length !== 1) return []
  const [source] = selected
  return document.nodes.flatMap((node) => {
    const ports = catalog[node.operator]?.ports ?? []
    return ports
      .map((port) => ({ source, target: node.id, targetHandle: port }))
      .filter(gestures.canConnect)
      .map((ends) => ({
        text: `Connect ${source} to ${node.id}${ports.length > 1 ? ` (${ends.targetHandle})` : ''}`,
        run: () => gestures.connect(ends),
      }))
  })
}
