// Tables and charts as pictures for slides: the one with the mouse or the focus is copied by a key, or, a table, saved
// from a menu at its corner. Charts have their own button for that.
import { taken } from './taken.js'
import { take } from './saving.js'

export const SOURCES = __SOURCES__

const TABLE = '.grid'
const CHART = '.js-plotly-plot'
const KEY = 'i'
const TOLD_MS = 2500
const LEAVE_MS = 300
// A choice or a slider that has the focus takes no letter.
const WRITTEN =
  'input:not([type="radio"], [type="checkbox"], [type="range"]), textarea, select, [contenteditable="true"]'

/** @param {Event} event */
const shotOf = (event) =>
  /** @type {HTMLElement | undefined} */ (
    event.composedPath().find((one) => one instanceof Element && one.matches(`${TABLE}, ${CHART}`))
  )

/** @param {Element} shot */
const nameOf = (shot) => shot.getAttribute('aria-label') || 'chart'

/** @param {{ parentElement: Element | ShadowRoot }} args */
export default function mount({ parentElement }) {
  const bar = /** @type {HTMLElement} */ (parentElement.querySelector('.shots'))
  const button = /** @type {HTMLButtonElement} */ (bar.querySelector('.take'))
  const menu = /** @type {HTMLElement} */ (bar.querySelector('.choices'))
  const told = /** @type {HTMLElement} */ (bar.querySelector('.told'))
  // Only while it is open: nobody who searches the page finds it.
  const choices = menu.innerHTML
  menu.innerHTML = ''
  const stop = new AbortController()
  const { signal } = stop
  /** @type {HTMLElement | undefined} */
  let shot
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let later
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let leaving

  const say = (/** @type {string} */ text) => {
    told.textContent = text
    clearTimeout(later)
    later = setTimeout(() => (told.textContent = ''), TOLD_MS)
  }
  const keep = async (/** @type {import('./saving.js').How} */ how) => {
    const from = shot
    show(false)
    if (from?.isConnected) say(await take(how, () => taken(from), nameOf(from)))
  }
  const show = (/** @type {boolean} */ isOpen) => {
    menu.hidden = !isOpen
    menu.innerHTML = isOpen ? choices : ''
    button.setAttribute('aria-expanded', String(isOpen))
  }
  const place = () => {
    const isTable = shot?.isConnected && shot.matches(TABLE)
    bar.classList.toggle('near', Boolean(isTable))
    if (!isTable || !shot) return show(false)
    const { right, top } = shot.getBoundingClientRect()
    bar.style.left = `${right}px`
    bar.style.top = `${top}px`
  }
  const near = (/** @type {Event} */ event) => {
    clearTimeout(leaving)
    if (event.composedPath().includes(bar)) return
    const found = shotOf(event)
    const move = () => {
      shot = found
      place()
    }
    // Time to reach the button.
    if (found) move()
    else leaving = setTimeout(move, LEAVE_MS)
  }
  document.addEventListener('mouseover', near, { signal })
  document.addEventListener('focusin', near, { signal })
  document.addEventListener('scroll', place, { signal, capture: true, passive: true })
  document.addEventListener(
    'keydown',
    (event) => {
      const typing = event.composedPath().some((one) => one instanceof Element && one.matches(WRITTEN))
      if (event.key.toLowerCase() !== KEY || event.ctrlKey || event.metaKey || event.altKey || typing) return
      if (!shot?.isConnected) return
      event.preventDefault()
      event.stopPropagation()
      keep('copy')
    },
    { signal, capture: true },
  )
  button.onclick = () => show(Boolean(menu.hidden))
  menu.onclick = (event) => {
    const how = event.target instanceof HTMLElement ? event.target.closest('button')?.dataset.how : undefined
    if (how) keep(/** @type {import('./saving.js').How} */ (how))
  }
  bar.onkeydown = (event) => {
    if (event.key !== 'Escape' || menu.hidden) return
    event.stopPropagation()
    show(false)
    button.focus()
  }
  return () => {
    stop.abort()
    clearTimeout(later)
    clearTimeout(leaving)
    menu.innerHTML = choices
  }
}
