// An edge: its changelog mode as badges, and after a run the number of records of each kind.
import { memo, useContext } from 'react'
import { BaseEdge, EdgeLabelRenderer } from '@xyflow/react'
import { Kinds, labelStyle } from '../graph/Kinds.jsx'
import { kindForms } from '../graph/kind_sizes.js'
import { shortNumber } from '../graph/kinds.js'
import { Picture } from '../graph/picture.js'

/** @import { EdgeProps } from '@xyflow/react' */
/** @import { ChangelogFlowEdge } from '../types' */

/**
 * @param {ChangelogFlowEdge} edge
 * @param {number} zoom
 * @param {number} least
 */
export function badgeForms({ data }, zoom, least) {
  const { mode = [], counts } = data?.facts ?? {}
  const letters = counts ? Math.max(...mode.map((kind) => shortNumber(counts[kind] ?? 0).length)) : 0
  return kindForms(mode.length, letters, zoom, least)
}

export const ChangelogEdge = memo(function ChangelogEdge(/** @type {EdgeProps<ChangelogFlowEdge>} */ props) {
  const { tip, pick, open } = useContext(Picture)
  const { facts, isTarget, line } = props.data ?? {}
  if (!line) return null
  const { d, x, y, label } = line
  return (
    <>
      <BaseEdge
        id={props.id}
        path={d}
        className={isTarget ? 'target' : ''}
        markerEnd={props.markerEnd}
        interactionWidth={24}
      />
      {/* A level line has no height: this gives the edge a box that can be seen and pointed at. */}
      <circle cx={x} cy={y} r={12} className="middle" />
      {facts?.mode && label && (
        <EdgeLabelRenderer>
          <div
            className={`badges ${label.size.form} nodrag nopan ${props.selected ? 'chosen' : ''}`}
            data-edge={props.id}
            aria-hidden="true"
            style={labelStyle(label)}
            onMouseEnter={(event) => tip({ edge: props.id, event })}
            onMouseLeave={() => tip(null)}
            onClick={() => pick(props.id)}
            onDoubleClick={() => facts.counts && open({ edge: facts.output })}
          >
            <Kinds kinds={facts.mode} counts={facts.counts} form={label.size.form} />
          </div>
        </EdgeLabelRenderer>
      )}
    </>
  )
})
