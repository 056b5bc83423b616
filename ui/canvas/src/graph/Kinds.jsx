// The kinds of an edge beside each other, in the form that has room.
import { kindClass, shortNumber } from './kinds.js'

/** @import { EdgeFacts, Form, Kind } from '../types' */

/** @param {{ kinds: Kind[], counts?: EdgeFacts['counts'], form: Form['form'] }} props */
export const Kinds = ({ kinds, counts, form }) =>
  kinds.map((kind) => (
    <span key={kind} className={kindClass(kind)}>
      {form !== 'dots' && kind}
      {form === 'counted' && <i>{shortNumber(counts?.[kind] ?? 0)}</i>}
    </span>
  ))

/**
 * Where a label stands, and its columns.
 *
 * @param {import('../types').Label} label
 */
export const labelStyle = ({ left, top, size: { width, height, columns } }) => ({
  transform: `translate(${left}px,${top}px)`,
  width,
  height,
  gridTemplateColumns: `repeat(${columns}, 1fr)`,
})
