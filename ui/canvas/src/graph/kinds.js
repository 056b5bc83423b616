// How both canvases write row kinds and numbers of records.

/** @import { Kind } from '../types' */

/** @type {Record<Kind, string>} */
const CLASSES = { '+I': 'kI', '-U': 'kU', '+U': 'kV', '-D': 'kD' }

/** @param {Kind} kind */
export const kindClass = (kind) => `kind ${CLASSES[kind]}`

/**
 * The CSS variable of its colour.
 *
 * @param {Kind} kind
 */
export const kindVariable = (kind) => CLASSES[kind].replace('k', '--kind-')

/** @param {number | null | undefined} value */
export const number = (value) => value?.toLocaleString('en-US') ?? ''

/** @param {number} value */
export function shortNumber(value) {
  if (value >= 1e6) return `${(value / 1e6).toFixed(1)}M`
  return value >= 1e3 ? `${(value / 1e3).toFixed(1)}k` : number(value)
}
