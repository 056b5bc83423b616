// The picture as a script of its own: a component of Streamlit's, and inlined in pages that need no server, where it
// draws into every element what its `data-picture` says.
import { pictured } from './picture.js'

export const SOURCES = __SOURCES__

/** @typedef {{ small?: boolean, gap?: number, drawing: Parameters<typeof pictured>[0] }} Picture */

/**
 * @param {Element} place
 * @param {Picture} picture
 */
function draw(place, { drawing, ...look }) {
  place.innerHTML = pictured(drawing, look)
}

for (const place of document.querySelectorAll('[data-picture]')) {
  draw(place, JSON.parse(place.getAttribute('data-picture') ?? ''))
}

/** @param {{ parentElement: Element | ShadowRoot, data: Picture }} args */
export default function mount({ parentElement, data }) {
  const place = parentElement.querySelector('.picture')
  if (place) draw(place, data)
}
