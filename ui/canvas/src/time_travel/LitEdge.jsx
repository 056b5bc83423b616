// An edge at one event: lit if it carried records, which are shown in their order.
import { memo, useContext } from 'react'
import { BaseEdge, EdgeLabelRenderer } from '@xyflow/react'
import { Kinds, labelStyle } from '../graph/Kinds.jsx'
import { kindClass, number } from '../graph/kinds.js'
import { Picture } from '../graph/picture.js'
import { kindsOf } from './record_sizes.js'

/** @import { EdgeProps } from '@xyflow/react' */
/** @import { LitFlowEdge } from '../types' */

export const LitEdge = memo(function LitEdge(/** @type {EdgeProps<LitFlowEdge>} */ props) {
  const { pick } = useContext(Picture)
  const { facts, line } = props.data ?? {}
  const { records = [], more = 0 } = facts ?? {}
  if (!line) return null
  const { d, x, y, label } = line
  const texts = label?.size.texts ?? []
  const shown = records.slice(0, texts.length)
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
                  <span className="values">{texts[at]}</span>
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
