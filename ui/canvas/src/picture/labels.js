// What is written along an edge: the kinds that it carries, or its records of one event.
import { kindVariable, shortNumber } from '../graph/kinds.js'
import { boxAround, placed } from '../graph/route.js'

/** @import { EdgeFacts, Kind, LitFacts } from '../types' */
/** @import { Box, Point } from '../graph/route.js' */
/** @import { Pen } from './picture.js' */

const BADGE = 27
const BADGE_HEIGHT = 18
const LINE = 21
const LETTER = 7.3
// Of a record: as many as there is room for.
const MOST_LETTERS = [60, 40, 30, 20]

/**
 * The kinds of an edge, two to a row or in a column.
 *
 * @param {Kind[]} mode
 * @param {EdgeFacts['counts']} counts
 * @param {Point[]} points
 * @param {Box[]} taken
 * @param {Pen} pen
 */
export function badges(mode, counts, points, taken, pen) {
  const texts = mode.map((kind) => (counts ? ` ${shortNumber(counts[kind] ?? 0)}` : ''))
  const wide = BADGE + Math.max(...texts.map((text) => text.length)) * 7.5
  const inRows = mode.length > 2 || counts ? [2, 1] : [mode.length, 1]
  const sizes = inRows.map((inRow) => ({
    inRow,
    width: Math.min(inRow, mode.length) * (wide + 2),
    height: Math.ceil(mode.length / inRow) * (BADGE_HEIGHT + 2),
  }))
  const free = placed(points, sizes, taken) ?? boxAround(middle(points), sizes[0])
  const { inRow } = free.size
  taken.push(free)
  return mode
    .map((kind, place) => {
      const x = free.left + (place % inRow) * (wide + 2)
      const y = free.top + Math.floor(place / inRow) * (BADGE_HEIGHT + 2)
      return badge(kind, `${kind}${texts[place]}`, x, y, wide, pen)
    })
    .join('')
}

/** @param {Point[]} points */
const middle = (points) => points[Math.floor(points.length / 2)]

/**
 * The records of an edge, one below the other.
 *
 * @param {NonNullable<LitFacts['records']>} shown
 * @param {number} more that are not shown
 * @param {Point[]} points
 * @param {Box[]} taken
 * @param {Pen} pen
 */
export function records(shown, more, points, taken, pen) {
  if (!shown.length) return ''
  const longest = Math.max(...shown.map((record) => record.text.length))
  const height = LINE * (shown.length + Number(more > 0)) + 6
  const sizes = MOST_LETTERS.map((most) => ({ most, width: BADGE + 14 + Math.min(most, longest) * LETTER, height }))
  const { left, top, size } = placed(points, sizes, taken) ?? boxAround(middle(points), sizes[sizes.length - 1])
  const { most, width } = size
  const texts = shown.map((record) => short(record.text, most))
  taken.push({ left, top, right: left + width, bottom: top + height })
  const write = (/** @type {string} */ text, /** @type {number} */ x, /** @type {number} */ at) =>
    `<text x="${(left + x).toFixed(1)}" y="${(top + at * LINE + 17).toFixed(1)}" font-size="12" ` +
    `font-family="ui-monospace, monospace" fill="${pen.pens.text}">${escaped(text)}</text>`
  const lines = shown.map(
    ({ kind }, at) => badge(kind, kind, left + 4, top + at * LINE + 4, BADGE, pen) + write(texts[at], BADGE + 9, at),
  )
  if (more > 0) lines.push(write(`and ${shortNumber(more)} more`, 6, shown.length))
  return (
    `<rect x="${left.toFixed(1)}" y="${top.toFixed(1)}" width="${width.toFixed(1)}" height="${height}" rx="6" ` +
    `fill="${pen.paper}" stroke="${pen.pens.line}"/>${lines.join('')}`
  )
}

/**
 * @param {Kind} kind
 * @param {string} text
 * @param {number} x
 * @param {number} y
 * @param {number} width
 * @param {Pen} pen
 */
const badge = (kind, text, x, y, width, { colors }) =>
  `<rect x="${x.toFixed(1)}" y="${y.toFixed(1)}" width="${width.toFixed(1)}" height="${BADGE_HEIGHT}" rx="4" ` +
  `fill="${colors[kindVariable(kind)]}"/><text x="${(x + width / 2).toFixed(1)}" y="${(y + 13).toFixed(1)}" font-size="12" ` +
  `text-anchor="middle" font-weight="600" font-family="ui-monospace, monospace" fill="${colors['--on-color']}">${text}</text>`

/**
 * @param {string} text
 * @param {number} most
 */
export const short = (text, most) => (text.length <= most ? text : `${text.slice(0, most - 1)}…`)

/** @type {Record<string, string>} */
const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** @param {string} text */
export const escaped = (text) => text.replace(/[&<>"']/g, (sign) => ENTITIES[sign])
