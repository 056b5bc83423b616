// Where an explanation stands over the canvas: not over what it explains, not over the neighbours of that, and over as
// little else as possible.

import { FORM } from './viewport.js'

/** @import { TipContent } from './Tip.jsx' */

/** @typedef {{ left: number, top: number, width: number, height: number }} Area in px of the canvas */

const CLEAR = 10
const MARGIN = 8
const POINTER = 12
// How much worse it is to hide a part of these than of other nodes.
const EXPLAINED = 1000
const NEIGHBOUR = 100

/**
 * @param {Element} box the canvas
 * @param {Element} own the explanation
 * @param {TipContent} tip
 * @returns {{ left: number, top: number }}
 */
export function besides(box, own, { of, at }) {
  const whole = box.getBoundingClientRect()
  const inside = ({ left, top, width, height } = new DOMRect()) => ({
    left: left - whole.left,
    top: top - whole.top,
    width,
    height,
  })
  const nodes = [...box.querySelectorAll('.react-flow__node[data-pick], [data-edge]')].map((each) => ({
    id: each.getAttribute('data-pick') ?? each.getAttribute('data-edge') ?? '',
    area: inside(each.getBoundingClientRect()),
  }))
  const pointer = {
    left: at.x - whole.left - POINTER,
    top: at.y - whole.top - POINTER,
    width: 2 * POINTER,
    height: 2 * POINTER,
  }
  const explained = around([pointer, ...nodes.flatMap(({ id, area }) => (id === of[0] ? [area] : []))])
  const hidden = nodes.map(({ id, area }) => ({
    area,
    weight: id === of[0] ? EXPLAINED : of.includes(id) ? NEIGHBOUR : 1,
  }))
  hidden.push({ area: pointer, weight: EXPLAINED })
  const form = document.querySelector(FORM)
  if (form) hidden.push({ area: inside(form.getBoundingClientRect()), weight: EXPLAINED })
  return best(
    inside(own.getBoundingClientRect()),
    explained,
    around([explained, ...hidden.flatMap(({ area, weight }) => (weight > 1 ? [area] : []))]),
    hidden,
    whole,
  )
}

/**
 * The first of the places that hide the least: beside what is explained, beside its neighbours, in a corner.
 *
 * @param {{ width: number, height: number }} size
 * @param {Area} explained
 * @param {Area} close what is explained, with its neighbours
 * @param {{ area: Area, weight: number }[]} hidden
 * @param {{ width: number, height: number }} whole
 */
export function best(size, explained, close, hidden, whole) {
  const { width, height } = size
  const [right, bottom] = [whole.width - width - MARGIN, whole.height - height - MARGIN]
  const kept = (/** @type {number} */ value, /** @type {number} */ most) =>
    Math.min(Math.max(value, MARGIN), Math.max(MARGIN, most))
  const beside = (/** @type {Area} */ area) => {
    const [below, above] = [area.top + area.height + CLEAR, area.top - height - CLEAR]
    const [after, before] = [area.left + area.width + CLEAR, area.left - width - CLEAR]
    const level = area.top + area.height / 2 - height / 2
    const columns = [area.left, area.left + area.width / 2 - width / 2, area.left + area.width - width]
    return [
      ...columns.flatMap((left) => [
        [left, below],
        [left, above],
      ]),
      [after, level],
      [before, level],
    ]
  }
  const corners = [MARGIN, right].flatMap((left) => [bottom, MARGIN].map((top) => [left, top]))
  const places = [...beside(explained), ...beside(close), ...corners].map(([left, top]) => ({
    left: kept(left, right),
    top: kept(top, bottom),
  }))
  const cost = (/** @type {{ left: number, top: number }} */ place) =>
    hidden.reduce((sum, { area, weight }) => sum + weight * overlap({ ...place, width, height }, area), 0)
  return places.reduce((one, other) => (cost(other) < cost(one) ? other : one))
}

/**
 * @param {Area} one
 * @param {Area} other
 */
const overlap = (one, other) =>
  Math.max(0, Math.min(one.left + one.width, other.left + other.width) - Math.max(one.left, other.left)) *
  Math.max(0, Math.min(one.top + one.height, other.top + other.height) - Math.max(one.top, other.top))

/** @param {Area[]} areas */
function around(areas) {
  const left = Math.min(...areas.map((each) => each.left))
  const top = Math.min(...areas.map((each) => each.top))
  return {
    left,
    top,
    width: Math.max(...areas.map((each) => each.left + each.width)) - left,
    height: Math.max(...areas.map((each) => each.top + each.height)) - top,
  }
}
