// The editor of SQL and code. Streamlit's own text areas hold the text: forms, undo and session state work as for any
// other field, also without this script. The editor lies over them and writes what is typed into them.
//
// One component serves all fields of a page's part. Streamlit calls it at mount and whenever its data change.
import style from './editor.css?inline'
import { COLOURS } from './colours.js'
import { edited } from './field.js'

export const SOURCES = __SOURCES__

/** @import { Fields } from './types' */
/** @typedef {import('./field.js').Edited} Edited */

/** @type {WeakMap<Element, Editors>} */
const mounted = new WeakMap()

/** @param {string} key */
const selector = (key) => `.st-key-${CSS.escape(key.trim().replace(/[^a-zA-Z0-9_-]/g, '-'))}`

const sheet = document.createElement('style')

// The theme's colours are known inside a component only; the fields and the lists are outside.
/** @param {Element} parent */
function dress(parent) {
  const theme = getComputedStyle(parent)
  const names = new Set(style.match(/--st-[\w-]+/g)?.concat(COLOURS) ?? [])
  const known = [...names].map((name) => `${name}: ${theme.getPropertyValue(name)};`).join(' ')
  sheet.textContent = `.studio-editor, .cm-tooltip { ${known} }\n${style}`
  // At the end: the editor's own styles are as specific.
  document.body.append(sheet)
}

class Editors {
  constructor() {
    /** @type {Map<string, Edited>} by field */
    this.open = new Map()
    /** @type {Fields | null} */
    this.data = null
    // Streamlit draws a field anew without a call, and Python may change the text of one.
    this.watching = new MutationObserver(() => this.draw())
    this.watching.observe(document.body, { childList: true, subtree: true })
  }

  draw() {
    if (!this.data) return
    for (const [key, editor] of this.open) {
      if (key in this.data.fields || editor.area.isConnected) continue
      editor.close()
      this.open.delete(key)
    }
    for (const [key, field] of Object.entries(this.data.fields)) {
      const area = /** @type {HTMLTextAreaElement | null} */ (document.querySelector(`${selector(key)} textarea`))
      if (!area) continue
      let editor = this.open.get(key)
      if (editor?.area !== area) {
        editor = edited(area, editor?.close() ?? null)
        this.open.set(key, editor)
      }
      editor.show(field, this.data)
    }
  }

  stop() {
    this.watching.disconnect()
    for (const editor of this.open.values()) editor.close()
  }
}

/** @param {{ parentElement: HTMLElement, data: Fields }} args */
export default function mount({ parentElement, data }) {
  let editors = mounted.get(parentElement)
  if (!editors) mounted.set(parentElement, (editors = new Editors()))
  dress(parentElement)
  editors.data = data
  editors.draw()
  return () => {
    // Streamlit also calls this while the element stays, if newer data arrived before this call had ended.
    if (parentElement.isConnected) return
    editors.stop()
    mounted.delete(parentElement)
  }
}
