// All that is known of the node or edge under the pointer, where it hides neither that nor its neighbours.
import { useLayoutEffect, useRef, useState } from 'react'
import { number } from '../graph/kinds.js'
import { besides } from './beside.js'

/** @import { EdgeFacts, NodeFacts } from '../types' */

/**
 * @typedef {object} TipContent
 * @property {string} title
 * @property {string} [what] in a few words
 * @property {NodeFacts & EdgeFacts} facts
 * @property {string[]} of what stays in view: the ids of the node and its neighbours, or of the edge and its ends
 * @property {{ x: number, y: number }} at the pointer
 */

// Of many columns, these are listed.
const MOST_COLUMNS = 14

/** @param {{ tip: TipContent | null, box: Element }} props */
export function Tip({ tip, box }) {
  const own = useRef(/** @type {HTMLDivElement | null} */ (null))
  const [place, setPlace] = useState({ left: 0, top: 0 })
  useLayoutEffect(() => {
    if (tip && own.current) setPlace(besides(box, own.current, tip))
  }, [tip, box])
  if (!tip) return null
  const { facts } = tip
  const { columns = [], run, counts } = facts
  return (
    <div className="tip" role="tooltip" ref={own} style={place}>
      <div className="head">{tip.title}</div>
      {tip.what && <p>{tip.what}</p>}
      {facts.problems?.map((each) => (
        <p key={each.sentence} className="why">
          {each.sentence}
        </p>
      ))}
      {facts.strategy && (
        <p>
          <b>{facts.strategy}</b>: {facts.reason}
        </p>
      )}
      {facts.state && <p>State: {facts.state}</p>}
      {facts.because && <p>{facts.because}</p>}
      {facts.keys && <p>Upsert key: {facts.keys}</p>}
      {run && <p className="figures">{ranAs(run)}</p>}
      {counts && <p className="figures">{carriedBy(counts)}</p>}
      {facts.since && <p>{facts.since}</p>}
      {columns.length > 0 && (
        <table>
          <tbody>
            {columns.slice(0, MOST_COLUMNS).map(([name, type, note]) => (
              <tr key={name}>
                <td>{name}</td>
                <td>{type}</td>
                <td>{note}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {columns.length > MOST_COLUMNS && <p>and {columns.length - MOST_COLUMNS} more columns</p>}
      {facts.error && <p className="why">{facts.error}</p>}
    </div>
  )
}

/** @param {NonNullable<NodeFacts['run']>} run */
function ranAs(run) {
  const some = (/** @type {number | null} */ count, /** @type {string} */ what) =>
    count == null ? [] : [`${number(count)} ${what}`]
  return [
    run.state,
    ...some(run.in, 'in'),
    ...some(run.out, 'out'),
    ...some(run.dropped || null, 'dropped'),
    ...some(run.used || null, 'late but used'),
    ...some(run.rejected || null, 'rejected'),
    ...(run.watermark ? [`watermark ${run.watermark}`] : []),
    ...(run.held ? [run.held.told] : []),
  ].join(' · ')
}

/** @param {NonNullable<EdgeFacts['counts']>} counts */
const carriedBy = (counts) =>
  Object.entries(counts)
    .map(([kind, count]) => `${kind} ${number(count)}`)
    .join(' · ') || 'no records'
