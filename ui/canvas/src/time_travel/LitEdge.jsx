// An edge at one event: lit if it carried records, which are shown in their order.
import { memo, useContext } from 'react'
import { BaseEdge, EdgeLabelRenderer } from '@xyflow/react'
import { Kinds, labelStyle } from '../graph/Kinds.jsx'
import { kindForms } from '../graph/kind_sizes.js'
import { kindClass, number } from '../graph/kinds.js'
import { Picture } from '../graph/picture.js'

/** @import { EdgeProps } from '@xyflow/react' */
/** @import { Form, LitFacts, LitFlowEdge } from '../types' */

// Of a list of records: the least size of its text, as the style has it, and what fits between two nodes.
const TEXT = 12
const SHARE = 0.95
const WIDEST = [166, 120, 90]
const WIDEST_PRESENTED = 220
const LETTER = 0.61
const FRAME = 8

/**
 * The sizes of the records of an edge: all of them, the first one, or their kinds.
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
  const line = size * 1.35 + 2
  const letters = Math.max(...records.map((record) => record.text.length))
  const wanted = Math.ceil((letters + 6) * LETTER * size + 12)
  const list = (/** @type {number} */ shown, /** @type {number} */ most) => ({
    form: /** @type {const} */ ('list'),
    columns: shown,
    width: Math.min(wanted, most),
    height: (shown + Number(more > 0 || shown < records.length)) * line + FRAME,
  })
  const widths = least > TEXT ? [WIDEST_PRESENTED, ...WIDEST] : WIDEST
  const counts = [...new Set([records.length, Math.min(3, records.length), 1])]
  const lists = widths.flatMap((most) => counts.map((shown) => list(shown, most)))
  return [...lists, ...kindForms(kindsOf(records).length, 0, zoom, least)]
}

/** @param {NonNullable<LitFacts['records']>} records */
const kindsOf = (records) => [...new Set(records.map(({ kind }) => kind))]

export const LitEdge = memo(function LitEdge(/** @type {EdgeProps<LitFlowEdge>} */ props) {
  const { pick } = useContext(Picture)
  const { facts, line } = props.data ?? {}
  const { records = [], more = 0 } = facts ?? {}
  if (!line) return null
  const { d, x, y, label } = line
  const shown = label?.size.form === 'list' ? records.slice(0, label.size.columns) : []
  const rest = more + records.length - shown.length
  return (
    <>
      <BaseEdge id={props.id} path={d} markerEnd={props.markerEnd} interactionWidth={24} />
      <circle cx={x} cy={y} r={12} className="middle" />
      {label && (
        <EdgeLabelRenderer>
          {shown.length ? (
            <ol
              className={`records nodrag nopan ${props.selected ? 'chosen' : ''}`}
              data-edge={props.id}
              style={labelStyle(label)}
              onClick={() => pick(props.id)}
            >
              {shown.map((record, at) => (
                <li key={at} title={record.title}>
                  <span className={kindClass(record.kind)}>{record.kind}</span>
                  <span className="values">{record.text}</span>
                </li>
              ))}
              {rest > 0 && <li className="more">and {number(rest)} more</li>}
            </ol>
          ) : (
            <div
              className={`badges ${label.size.form} nodrag nopan`}
              data-edge={props.id}
              title={records.map((record) => `${record.kind} ${record.title}`).join('\n')}
              style={labelStyle(label)}
              onClick={() => pick(props.id)}
            >
              <Kinds kinds={kindsOf(records)} form={label.size.form} />
            </div>
          )}
        </EdgeLabelRenderer>
      )}
    </>
  )
})
