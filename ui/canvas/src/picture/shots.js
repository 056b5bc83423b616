// Tables and charts as pictures for slides: the one with the mouse or the focus is copied by a key, or saved from a menu,
// which the camera at its corner opens. A chart has a camera of its own among its buttons.
import { taken } from './taken.js'
import { take } from './saving.js'

export const SOURCES = __SOURCES__

const TABLE = '.grid'
const CHART = '.js-plotly-plot'
const CAMERA = '.modebar-btn[data-title^="As a picture"]'
const CONTROL = 'a, button, input, select, textarea, label, summary, [role], [tabindex]'
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
const nameOf = (shot) =>
  shot.getAttribute('aria-label') ||
  /st-key-(\S+)/.exec(shot.closest('[class*="st-key-"]')?.className ?? '')?.[1] ||
  'chart'

/**
 * The upper right corner of what is seen of a table: it may be scrolled.
 *
 * @param {Element} shot
 */
function seen(shot) {
  let { right, top } = shot.getBoundingClientRect()
  /** @type {Element | null} */
  let each = shot
  while (each) {
    const root = each.getRootNode()
    each = each.parentElement ?? (root instanceof ShadowRoot ? root.host : null)
    if (!each || getComputedStyle(each).overflowY === 'visible') continue
    const box = each.getBoundingClientRect()
    right = Math.min(right, box.right)
    top = Math.max(top, box.top)
  }
  return { right, top }
}

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
    const isTable = Boolean(shot?.isConnected && shot.matches(TABLE))
    bar.classList.toggle('near', isTable)
    if (!shot?.isConnected) return show(false)
    const { right, top } = seen(shot)
    bar.style.left = `${right}px`
    bar.style.top = `${top}px`
    if (!isTable) return
    // Above the table, unless something that can be pressed is there; then beside it, else over its corner.
    for (const where of ['above', 'beside', 'over']) {
      bar.dataset.where = where
      if (isFree(button.getBoundingClientRect())) break
    }
  }
  const isFree = (/** @type {DOMRect} */ { left, right, top, bottom }) =>
    right <= document.documentElement.clientWidth &&
    [left + 1, (left + right) / 2, right - 1].every((x) =>
      [top + 1, (top + bottom) / 2, bottom - 1].every(
        (y) => !document.elementsFromPoint(x, y).some((each) => each !== bar && !isHost(each) && each.closest(CONTROL)),
      ),
    )
  const isHost = (/** @type {Element} */ each) => each === bar.parentElement || Boolean(each.shadowRoot?.contains(bar))
  const near = (/** @type {Event} */ event) => {
    clearTimeout(leaving)
    if (event.composedPath().includes(bar)) return
    const found = shotOf(event)
    const move = () => {
      // A menu that is open stays where it is.
      if (shot === found && !menu.hidden) return
      shot = found
      place()
    }
    // Time to reach the button.
    if (found) move()
    else leaving = setTimeout(move, LEAVE_MS)
  }
  document.addEventListener(
    'click',
    (event) => {
      const camera = event.composedPath().find((one) => one instanceof Element && one.matches(CAMERA))
      if (!(camera instanceof Element)) return
      event.stopPropagation()
      shot = shotOf(event)
      place()
      const { right, bottom } = camera.getBoundingClientRect()
      bar.style.left = `${right}px`
      bar.style.top = `${bottom}px`
      show(true)
      menu.querySelector('button')?.focus()
    },
    { signal, capture: true },
  )
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
