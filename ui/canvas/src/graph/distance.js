// How much is drawn, by the zoom: near, all of a node and an edge; from the middle, names, operators and kinds, and numbers
// if it is not too far; from far, names, states and the colours of kinds; from farther, only the nodes.

/** @typedef {'near' | 'middling' | 'far'} Distance */

// Of the steps in which a canvas tells its zoom.
const NEAR = 2 ** (-1 / 4)
const FAR = 2 ** (-5 / 4)
const NUMBERS = 2 ** (-3 / 4)
const FARTHER = 0.18

/**
 * @param {number} zoom
 * @returns {Distance}
 */
export const distance = (zoom) => (zoom >= NEAR ? 'near' : zoom >= FAR ? 'middling' : 'far')

/** @param {number} zoom */
export const hasLabels = (zoom) => zoom >= FARTHER

/** @param {number} zoom */
export const hasNumbers = (zoom) => zoom >= NUMBERS
