// The list that Ctrl+K opens on every page: its buttons, the other pages, the terms. The canvas that edits has its own list,
// with more in it.
import { matching } from '../compose/search.js'

export const SOURCES = __SOURCES__

/** @typedef {{ text: string, alsoCalled?: string, called?: string, run: () => void }} Command */
/** @typedef {{ pages: { name: string, title: string }[], terms: { name: string, words: string }[] }} Data */

const PAGE = 'changelog-studio-page'
const GLOSSARY = 'changelog-studio-glossary'
const MOST = 60
const BUTTONS = '[data-testid="stMain"] :is([data-testid="stButton"], [data-testid="stPopover"]) button'
const OPEN = 'dialog[open], [role="dialog"]'
const CANVAS = '.st-key-bench-canvas'

/** What a button is called, without its icon and its key. */
const nameOf = (/** @type {HTMLButtonElement} */ button) =>
  button.querySelector('p')?.textContent?.trim() || button.getAttribute('aria-label') || ''

/**
 * @param {Data} data
 * @returns {Command[]}
 */
function commandsOf({ pages, terms }) {
  /** @type {Map<string, Command>} */
  const buttons = new Map()
  for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (document.querySelectorAll(BUTTONS))) {
    const text = nameOf(button)
    if (text && !button.disabled && !buttons.has(text)) buttons.set(text, { text, run: () => button.click() })
  }
  const tell = (/** @type {string} */ type, /** @type {string} */ detail) =>
    void window.dispatchEvent(new CustomEvent(type, { detail }))
  return [
    ...buttons.values(),
    ...pages.map(({ name, title }) => ({
      text: `Go to the page ${title}`,
      called: title,
      run: () => tell(PAGE, name),
    })),
    ...terms.map(({ name, words }) => ({
      text: `What is ${name}?`,
      alsoCalled: `${words} glossary term`,
      run: () => tell(GLOSSARY, name),
    })),
  ]
}

/** @param {{ parentElement: Element | ShadowRoot, data: Data, setTriggerValue: (name: 'page', value: string) => void }} args */
export default function mount({ parentElement, data, setTriggerValue }) {
  const template = /** @type {HTMLTemplateElement} */ (parentElement.querySelector('template'))
  const stop = new AbortController()
  const { signal } = stop

  const open = () => {
    const before = document.activeElement
    const dialog = /** @type {HTMLDialogElement} */ (template.content.firstElementChild?.cloneNode(true))
    const input = /** @type {HTMLInputElement} */ (dialog.querySelector('input'))
    const list = /** @type {HTMLElement} */ (dialog.querySelector('[role=listbox]'))
    const commands = commandsOf(data)
    /** @type {Command[]} */
    let found = []
    let at = 0
    const show = () => {
      found = matching(
        commands,
        input.value,
        (each) => [each.text, each.alsoCalled ?? ''],
        (each) => each.called,
      ).slice(0, MOST)
      list.replaceChildren(
        ...found.map(({ text }, place) => {
          const option = document.createElement('div')
          Object.assign(option, { id: `page-command-${place}`, textContent: text, onclick: () => take(place) })
          option.setAttribute('role', 'option')
          return option
        }),
      )
      if (!found.length)
        list.append(Object.assign(document.createElement('p'), { textContent: 'Nothing is called so.' }))
      choose(0)
    }
    const choose = (/** @type {number} */ place) => {
      at = Math.min(Math.max(place, 0), Math.max(0, found.length - 1))
      for (const [each, option] of [...list.children].entries())
        option.setAttribute('aria-selected', String(each === at))
      if (found.length) input.setAttribute('aria-activedescendant', `page-command-${at}`)
      else input.removeAttribute('aria-activedescendant')
      list.children[at]?.scrollIntoView({ block: 'nearest' })
    }
    const take = (/** @type {number} */ place) => {
      dialog.close()
      found[place]?.run()
    }
    input.oninput = show
    dialog.onkeydown = (event) => {
      // Streamlit has hot keys, and cannot see that this is a text field.
      event.stopPropagation()
      if (event.key === 'ArrowDown') choose(at + 1)
      else if (event.key === 'ArrowUp') choose(at - 1)
      else if (event.key === 'Enter') take(at)
      else return
      event.preventDefault()
    }
    dialog.onclick = (event) => {
      if (event.target === dialog) dialog.close()
    }
    dialog.onclose = () => {
      dialog.remove()
      if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true })
    }
    parentElement.append(dialog)
    dialog.showModal()
    show()
  }

  window.addEventListener(
    'keydown',
    (event) => {
      const isAsked =
        (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === 'k'
      if (!isAsked || document.querySelector(`${CANVAS}, ${OPEN}`) || parentElement.querySelector(OPEN)) return
      event.preventDefault()
      open()
    },
    { signal },
  )
  window.addEventListener(PAGE, (event) => setTriggerValue('page', /** @type {CustomEvent<string>} */ (event).detail), {
    signal,
  })
  return () => stop.abort()
}
