// One field: an editor over one of Streamlit's text areas, with the same text.
import {
  acceptCompletion,
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap, insertNewlineAndIndent } from '@codemirror/commands'
import { bracketMatching, indentUnit, syntaxHighlighting } from '@codemirror/language'
import { diagnosticCount, setDiagnostics } from '@codemirror/lint'
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search'
import { Compartment, EditorState } from '@codemirror/state'
import {
  EditorView,
  drawSelection,
  highlightActiveLine,
  keymap,
  lineNumbers,
  placeholder,
  tooltips,
} from '@codemirror/view'
import { colours } from './colours.js'
import { language } from './language.js'
import { signature } from './signature.js'

/** @import { Field, Fields, Wrong } from './types' */
/** @typedef {{ text: string, from: number, to: number }} Typing what is typed, and its selection */
/** @typedef {{ area: HTMLTextAreaElement, show: (field: Field, data: Fields) => void, close: () => Typing | null }} Edited */

const PAUSE_MS = 300
/** @type {Map<string, number>} by name of a field, where the first line that is seen begins */
const firstSeen = new Map()
const value = /** @type {PropertyDescriptor} */ (
  Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, 'value')
)

/** @param {HTMLTextAreaElement} area */
function submit(area) {
  area.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', ctrlKey: true, bubbles: true, cancelable: true }))
}

/** @param {string} key */
function press(key) {
  const button = document.querySelector(`.st-key-${CSS.escape(key.replace(/[^a-zA-Z0-9_-]/g, '-'))} button`)
  if (button instanceof HTMLElement) button.click()
}

/**
 * Take what is chosen in the list; while the list is computed anew, as soon as it is there.
 * @param {EditorView} view
 * @returns {boolean} whether there is a list
 */
function takeListed(view) {
  if (acceptCompletion(view)) return true
  if (!document.querySelector('.cm-tooltip-autocomplete-disabled')) return false
  setTimeout(takeListed, 30, view)
  return true
}

/**
 * The editor of a text area, which is hidden meanwhile.
 * @param {HTMLTextAreaElement} area
 * @param {Typing | null} typing goes on here: the field was drawn anew
 * @returns {Edited}
 */
export function edited(area, typing) {
  const whole = /** @type {HTMLElement} */ (area.closest('[data-testid="stTextArea"]') ?? area.parentElement)
  const speaks = new Compartment()
  const look = new Compartment()
  /** @type {Field | null} */
  let field = null
  let shown = ''
  let marked = ''
  let isPlaced = false
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let pause

  const send = () => {
    clearTimeout(pause)
    submit(area)
  }
  const run = () => {
    send()
    // The field submits its text first; then the button is pressed.
    if (field?.runs) setTimeout(press, 0, field.runs)
    return true
  }
  /** @param {import('@codemirror/view').ViewUpdate} update */
  const heard = (update) => {
    if (!update.docChanged) return
    // What was wrong is about another text.
    if (diagnosticCount(update.state)) update.view.dispatch(setDiagnostics(update.state, []))
    const text = update.state.doc.toString()
    if (text === area.value) return
    value.set?.call(area, text)
    area.dispatchEvent(new Event('input', { bubbles: true }))
    clearTimeout(pause)
    // A line is checked while it is typed; a page when its author is done with it.
    if (field?.line) pause = setTimeout(send, PAUSE_MS)
  }

  // Before it is hidden, and loses its focus: somebody may type in it already.
  const height = area.offsetHeight
  if (document.activeElement === area) typing ??= { text: area.value, from: area.selectionStart, to: area.selectionEnd }
  let isTyping = typing !== null
  const view = new EditorView({
    doc: area.value,
    extensions: [
      keymap.of([
        { key: 'Mod-Enter', run },
        { key: 'Tab', run: takeListed },
        { key: 'Shift-Enter', run: insertNewlineAndIndent },
        { key: 'Enter', run: (view) => takeListed(view) || (Boolean(field?.line) && run()) },
      ]),
      history(),
      drawSelection(),
      bracketMatching(),
      closeBrackets(),
      autocompletion({ maxRenderedOptions: 60, icons: false, interactionDelay: 0 }),
      EditorState.phrases.of({ Completions: 'Columns and functions' }),
      tooltips({ parent: document.body }),
      highlightSelectionMatches(),
      syntaxHighlighting(colours),
      indentUnit.of('  '),
      keymap.of([...closeBracketsKeymap, ...completionKeymap, ...historyKeymap, ...searchKeymap, ...defaultKeymap]),
      speaks.of([]),
      look.of([]),
      // At once: a button that is pressed next must find the text.
      EditorView.domEventHandlers({
        focus: () => void (isTyping = true),
        scroll: (_, view) => {
          // What is drawn anew, or is hidden, begins at the top by itself.
          if (!field?.stays || !isPlaced || !view.dom.offsetHeight) return
          firstSeen.set(field.stays, view.lineBlockAtHeight(view.scrollDOM.scrollTop).from)
        },
        blur: () => {
          // A field that is drawn anew takes its editor away, which nobody left.
          if (!area.isConnected) return
          isTyping = false
          send()
        },
      }),
      EditorView.updateListener.of(heard),
    ],
  })
  const label = whole.querySelector('label')
  const focus = () => view.focus()
  label?.addEventListener('click', focus)
  whole.dataset.edited = ''
  whole.append(view.dom)
  if (typing) {
    const { text, from, to } = typing
    view.focus()
    view.dispatch({
      changes: text === area.value ? undefined : { from: 0, to: view.state.doc.length, insert: text },
      selection: { anchor: from, head: to },
    })
  }

  /** @param {Field} next @param {Fields} data */
  const speak = (next, data) => {
    view.dispatch({
      effects: [
        speaks.reconfigure([language(next, data), signature(data.functions)]),
        look.reconfigure([
          next.line ? [] : [lineNumbers(), highlightActiveLine()],
          next.line || next.language === 'flink' ? EditorView.lineWrapping : [],
          EditorView.editorAttributes.of({
            class: next.line ? 'studio-editor is-line' : 'studio-editor',
            style: `--height: ${height}px`,
          }),
          placeholder(area.placeholder),
          EditorState.readOnly.of(area.disabled),
          EditorView.contentAttributes.of({ 'aria-label': area.ariaLabel ?? label?.textContent ?? '', tabindex: '0' }),
        ]),
      ],
    })
  }
  /** @param {Wrong[]} places @param {boolean} isLine */
  const mark = (places, isLine) => {
    const text = view.state.doc.toString()
    const wrong = places
      .filter((each) => each.text === text)
      .map(({ start, end, sentence }) => {
        const from = Math.min(start, text.length)
        return {
          from,
          to: Math.min(Math.max(end, from), text.length),
          severity: /** @type {const} */ ('error'),
          message: sentence,
        }
      })
    view.dispatch(setDiagnostics(view.state, wrong))
    if (wrong.length && !isLine) view.dispatch({ effects: EditorView.scrollIntoView(wrong[0].from, { y: 'center' }) })
  }

  return {
    area,
    show(next, data) {
      const { wrong: places, ...spoken } = next
      const facts = JSON.stringify([
        spoken,
        data.keywords.length,
        data.functions.length,
        area.disabled,
        area.placeholder,
      ])
      const marks = JSON.stringify(places)
      if (area.value !== view.state.doc.toString()) {
        view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: area.value } })
        isPlaced = false
      } else if (facts === shown && marks === marked) return
      field = next
      marked = marks
      // Only if it is another language: a list of completions that is open would close.
      if (facts !== shown) {
        shown = facts
        speak(next, data)
      }
      mark(places, next.line)
      if (isPlaced || !view.state.doc.length) return
      isPlaced = true
      const first = firstSeen.get(next.stays) ?? 0
      if (first && first < view.state.doc.length) {
        view.dispatch({ effects: EditorView.scrollIntoView(first, { y: 'start', yMargin: 0 }) })
      }
    },
    close() {
      const { anchor: from, head: to } = view.state.selection.main
      const left = isTyping ? { text: view.state.doc.toString(), from, to } : null
      clearTimeout(pause)
      label?.removeEventListener('click', focus)
      delete whole.dataset.edited
      view.destroy()
      return left
    },
  }
}
