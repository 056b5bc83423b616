// The sizes of an edge's records at one event: with all their values where these have room, in several lines if need be.
import { kindForms } from '../graph/kind_sizes.js'

/** @import { Form, LitFacts, LitFlowEdge } from '../types' */

// Of a list of records: the least size of its text, as the style has it, and what fits between two nodes.
const TEXT = 12
const SHARE = 0.95
const WIDEST = [152, 120, 90]
const WIDEST_PRESENTED = 212
const LETTER = 0.61
const LINE = 1.35
const FRAME = 8
// Values in shorter lines cannot be read.
const LEAST_LETTERS = 7

/**
 * The sizes of the records of an edge: all of them with all their values, in several lines if need be, as many as have
 * room with values that are cut, or their kinds.
 *
 * @param {LitFlowEdge} edge
 * @param {number} zoom
 * @param {number} least size of a text on the screen, in px
 * @returns {Form[]}
 */
export function recordForms({ data }, zoom, least) {
  const { records = [], more = 0 } = data?.facts ?? {}
  if (!records.length) return []
  const size = Math.max(TEXT, (least * SHARE) / zoom)
  const fitting = (/** @type {number} */ width) => Math.floor((width - 12) / (LETTER * size)) - 6
  const list = (/** @type {string[]} */ texts, /** @type {number} */ most) => {
    const rows = texts.flatMap((text) => text.split('\n'))
    const rest = Number(more > 0 || texts.length < records.length)
    return {
      form: /** @type {const} */ ('list'),
      columns: texts.length,
      texts,
      width: Math.min(Math.ceil((Math.max(...rows.map((row) => row.length)) + 6) * LETTER * size + 12), most),
      height: (rows.length + rest) * LINE * size + (texts.length + rest) * 2 + FRAME,
    }
  }
  const widths = least > TEXT ? [WIDEST_PRESENTED, ...WIDEST] : WIDEST
  const texts = records.map((record) => record.text)
  const whole = widths.flatMap((most) => {
    const letters = fitting(most)
    const inLines = texts.flatMap((text) => wrapped(text, letters) ?? [])
    return letters >= LEAST_LETTERS && inLines.length === texts.length ? [list(inLines, most)] : []
  })
  const counts = [...new Set([records.length, Math.min(3, records.length), 1])]
  const cut = widths.flatMap((most) => counts.map((shown) => list(texts.slice(0, shown), most)))
  return [...whole, ...cut, ...kindForms(kindsOf(records).length, 0, zoom, least)]
}

/**
 * A text in lines, broken between its words; null if one of them is longer than a line.
 *
 * @param {string} text
 * @param {number} letters that a line has room for
 */
export function wrapped(text, letters) {
  /** @type {string[]} */
  const lines = []
  for (const word of text.split(' ')) {
    if (word.length > letters) return null
    const last = lines.length - 1
    if (last >= 0 && lines[last].length + 1 + word.length <= letters) lines[last] += ` ${word}`
    else lines.push(word)
  }
  return lines.join('\n')
}

/** @param {NonNullable<LitFacts['records']>} records */
export const kindsOf = (records) => [...new Set(records.map(({ kind }) => kind))]
