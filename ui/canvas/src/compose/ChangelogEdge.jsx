// An edge: its changelog mode as badges, and after a run the number of records of each kind.
import { memo, useContext } from 'react'
import { BaseEdge, EdgeLabelRenderer } from '@xyflow/react'
import { useRoute } from '../graph/boxes.js'
import { kindClass, shortNumber } from '../graph/kinds.js'
import { Picture } from '../graph/picture.js'

/** @import { EdgeProps } from '@xyflow/react' */
/** @import { ChangelogFlowEdge } from '../types' */

// The size of the badges, as the style has it: with a number of records, one in a row, else two.
const WIDEST = 70
const BADGE = 28
const LINE = 21

export const ChangelogEdge = memo(function ChangelogEdge(/** @type {EdgeProps<ChangelogFlowEdge>} */ props) {
  const { tip, pick, open } = useContext(Picture)
  const { facts, isTarget } = props.data ?? {}
  const counts = facts?.counts
  const kinds = facts?.mode?.length ?? 0
  const { path, x, y } = useRoute(
    props,
    counts ? WIDEST : Math.min(WIDEST, kinds * BADGE),
    LINE * (counts ? kinds : Math.ceil(kinds / 2)),
    props.data?.nth,
  )
  return (
    <>
      <BaseEdge
        id={props.id}
        path={path}
        className={isTarget ? 'target' : ''}
        markerEnd={props.markerEnd}
        interactionWidth={24}
      />
      {/* A level line has no height: this gives the edge a box that can be seen and pointed at. */}
      <circle cx={x} cy={y} r={12} className="middle" />
      {facts?.mode && (
        <EdgeLabelRenderer>
          <div
            className={`badges nodrag nopan ${props.selected ? 'chosen' : ''} ${counts ? 'counted' : ''}`}
            data-edge={props.id}
            aria-hidden="true"
            style={{ transform: `translate(-50%,-50%) translate(${x}px,${y}px)` }}
            onMouseEnter={(event) => tip({ edge: props.id, event })}
            onMouseLeave={() => tip(null)}
            onClick={() => pick(props.id)}
            onDoubleClick={() => counts && open({ edge: facts.output })}
          >
            {facts.mode.map((kind) => (
              <span key={kind} className={kindClass(kind)}>
                {kind}
                {counts && <i>{shortNumber(counts[kind] ?? 0)}</i>}
              </span>
            ))}
          </div>
        </EdgeLabelRenderer>
      )}
    </>
  )
})
