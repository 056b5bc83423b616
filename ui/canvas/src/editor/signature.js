// The signature of the function whose arguments are written at the cursor.
import { StateField } from '@codemirror/state'
import { showTooltip } from '@codemirror/view'

/** @import { EditorState } from '@codemirror/state' */
/** @import { Tooltip } from '@codemirror/view' */
/** @import { Named } from './types' */

const LOOKED_AT = 2000

/** @param {Named[]} functions */
export function signature(functions) {
  const notes = new Map(functions.map(({ name, note }) => [name.toUpperCase(), note]))
  /** @param {EditorState} state @returns {Tooltip | null} */
  const tooltip = (state) => {
    const { head, empty } = state.selection.main
    const call = empty ? callAt(state.sliceDoc(Math.max(0, head - LOOKED_AT), head)) : null
    const note = call && notes.get(call.name.toUpperCase())
    if (!call || !note) return null
    return {
      pos: head - call.back,
      above: true,
      create: () => {
        const dom = document.createElement('div')
        dom.className = 'studio-signature'
        dom.textContent = note
        return { dom }
      },
    }
  }
  return StateField.define({
    create: () => /** @type {Tooltip | null} */ (null),
    update: (shown, change) => (change.docChanged || change.selection ? tooltip(change.state) : shown),
    provide: (field) => showTooltip.from(field),
  })
}

/**
 * The innermost call that is open at the end of a text. back: how far before the end its name begins.
 * @param {string} text
 */
export function callAt(text) {
  const masked = text.replace(/'[^']*'|`[^`]*`|--[^\n]*/g, (found) => ' '.repeat(found.length))
  let depth = 0
  for (let at = masked.length - 1; at >= 0; at -= 1) {
    if (masked[at] === ';') return null
    if (masked[at] === ')') depth += 1
    if (masked[at] !== '(') continue
    if (depth === 0) {
      const name = masked.slice(0, at).match(/[A-Za-z_][A-Za-z0-9_]*$/)?.[0]
      return name ? { name, back: masked.length - at + name.length } : null
    }
    depth -= 1
  }
  return null
}
