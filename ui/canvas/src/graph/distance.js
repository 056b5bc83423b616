// How much is drawn, by the zoom: near, all of a node and an edge; from the middle, names, operators and kinds, and numbers
// if it is not too far; from far, names, states and the colours of kinds; from farther, only the nodes.

import { HEIGHT } from '../layout.js'

/** @typedef {'near' | 'middling' | 'far'} Distance */

// Of the steps in which a canvas tells its zoom.
const NEAR = 2 ** (-1 / 4)
const FAR = 2 ** (-5 / 4)
const NUMBERS = 2 ** (-3 / 4)
const FARTHER = 0.18
const MOST_LINES = 3
const LEADING = 1.1
// The size of a name at a zoom of 1, as in the style sheet.
const LARGE = 14
// Inside of its border.
const INNER = HEIGHT - 2

/**
 * @param {number} zoom
 * @returns {Distance}
 */
export const distance = (zoom) => (zoom >= NEAR ? 'near' : zoom >= FAR ? 'middling' : 'far')

/** @param {number} zoom */
export const hasLabels = (zoom) => zoom >= FARTHER

/** @param {number} zoom */
export const hasNumbers = (zoom) => zoom >= NUMBERS

/**
 * How many lines a name may have in a node; 0 if a node is lower than one. few: beside the figures of a run. leading: the
 * height of a line, in heights of the text.
 *
 * @param {number} zoom
 * @param {number} least size of a text on the screen, in px
 */
export function nameLines(zoom, least) {
  const high = (INNER * zoom) / least
  if (high < 1) return { lines: 0, few: 0, leading: LEADING }
  if (distance(zoom) === 'near') return { lines: least / zoom > LARGE ? MOST_LINES : 2, few: 2, leading: LEADING }
  const lines = Math.min(MOST_LINES, Math.floor(high))
  return { lines, few: Math.max(1, Math.floor(high / LEADING) - 1), leading: Math.min(LEADING, high / lines) }
}
