// The sizes of an edge's kinds on a canvas: with their numbers of records, as badges, or as their colours only.
import { distance, hasLabels, hasNumbers } from './distance.js'

/** @import { Form } from '../types' */

export const LEAST = 11

// In px at a zoom of 1 and below it.
const LETTER = 6.7
const WIDE = 24
const TIGHT = 15
const LINE = 17
const DOT = 7
// Between two badges, and around all of them.
const GAP = 2
const NARROW_GAP = 1

/**
 * The forms that fit the zoom, from the one that says most.
 *
 * @param {number} kinds
 * @param {number} letters of the longest number; 0 without numbers
 * @param {number} zoom
 * @param {number} least size of a text on the screen, in px
 * @returns {Form[]}
 */
export function kindForms(kinds, letters, zoom, least) {
  if (!kinds || !hasLabels(zoom)) return []
  const scale = Math.max(1, least / LEAST / zoom)
  const form = (
    /** @type {Form['form']} */ name,
    /** @type {number} */ columns,
    /** @type {number} */ wide,
    high = LINE,
    gap = GAP,
  ) => ({
    form: name,
    columns,
    width: (columns * (wide + gap) + gap) * scale,
    height: (Math.ceil(kinds / columns) * (high + gap) + gap) * scale,
  })
  const inRow = Math.min(2, kinds)
  const column = kinds === 2 ? 1 : inRow
  const dots = [form('dots', inRow, DOT, DOT), form('dots', column, DOT, DOT)]
  const badges = [
    form('kinds', inRow, WIDE),
    form('tight', inRow, TIGHT, LINE, NARROW_GAP),
    form('kinds', column, WIDE),
  ]
  const counted =
    letters && hasNumbers(zoom)
      ? [1, inRow].map((columns) => form('counted', columns, WIDE + 4 + letters * LETTER))
      : []
  return distance(zoom) === 'far' ? dots : [...counted, ...badges, ...dots]
}
