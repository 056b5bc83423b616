// An edge at one event: lit if it carried records, which are shown in their order.
import { memo, useContext } from 'react'
import { BaseEdge, EdgeLabelRenderer } from '@xyflow/react'
import { useRoute } from '../graph/boxes.js'
import { kindClass, number } from '../graph/kinds.js'
import { Picture } from '../graph/picture.js'

/** @import { EdgeProps } from '@xyflow/react' */
/** @import { LitFlowEdge } from '../types' */

// About the size of the list of records.
const WIDEST = 170
const LINE = 20

export const LitEdge = memo(function LitEdge(/** @type {EdgeProps<LitFlowEdge>} */ props) {
  const { pick } = useContext(Picture)
  const { records = [], more = 0 } = props.data?.facts ?? {}
  const { path, x, y } = useRoute(props, WIDEST, records.length * LINE, props.data?.nth)
  return (
    <>
      <BaseEdge id={props.id} path={path} markerEnd={props.markerEnd} interactionWidth={24} />
      <circle cx={x} cy={y} r={12} className="middle" />
      {records.length > 0 && (
        <EdgeLabelRenderer>
          <ol
            className={`records nodrag nopan ${props.selected ? 'chosen' : ''}`}
            data-edge={props.id}
            style={{ transform: `translate(-50%,-50%) translate(${x}px,${y}px)` }}
            onClick={() => pick(props.id)}
          >
            {records.map((record, at) => (
              <li key={at} title={record.title}>
                <span className={kindClass(record.kind)}>{record.kind}</span>
                <span className="values">{record.text}</span>
              </li>
            ))}
            {more > 0 && <li className="more">and {number(more)} more</li>}
          </ol>
        </EdgeLabelRenderer>
      )}
    </>
  )
})
