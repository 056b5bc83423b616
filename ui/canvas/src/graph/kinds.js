// How both canvases write row kinds and numbers of records.

/** @import { Kind } from '../types' */

/** @type {Record<Kind, string>} */
const CLASSES = { '+I': 'kI', '-U': 'kU', '+U': 'kV', '-D': 'kD' }

/** @type {Record<Kind, string>} */
const FLINK_NAMES = { '+I': 'I', '-U': 'UB', '+U': 'UA', '-D': 'D' }

/** @param {Kind} kind */
export const kindClass = (kind) => `kind ${CLASSES[kind]}`

/**
 * The CSS variable of its colour.
 *
 * @param {Kind} kind
 */
export const kindVariable = (kind) => CLASSES[kind].replace('k', '--kind-')

/**
 * A changelog mode as Flink's EXPLAIN prints it: [I,UB,UA,D].
 *
 * @param {Kind[]} mode
 */
export const modeText = (mode) => `[${mode.map((kind) => FLINK_NAMES[kind])}]`

/** @param {number | null | undefined} value */
export const number = (value) => value?.toLocaleString('en-US') ?? ''

/** @param {number} value */
export function shortNumber(value) {
  if (value >= 1e6) return `${(value / 1e6).toFixed(1)}M`
  return value >= 1e3 ? `${(value / 1e3).toFixed(1)}k` : number(value)
}
