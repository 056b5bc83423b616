// A node: its name, operator and strategy, whether it keeps state, its problems, and the progress of its run.
import { Fragment, memo, useContext } from 'react'
import { Handle, Position } from '@xyflow/react'
import { number } from './kinds.js'
import { Picture } from './picture.js'

/** @import { NodeProps } from '@xyflow/react' */
/** @import { DrawnNode, NodeFacts } from '../types' */

/** @type {Record<string, string>} */
const SIGNS = { waiting: '○', running: '◐', done: '●', failed: '✕', stopped: '◌' }

export const OpNode = memo(function OpNode(/** @type {NodeProps<DrawnNode>} */ { id, data }) {
  const { tip, problems } = useContext(Picture)
  const { catalog, facts } = data
  const wrong = facts.problems ?? []
  const state = wrong.every((each) => each.toDo) ? 'to-do' : 'wrong'
  const ports = catalog?.ports ?? []
  const outputs = facts.outputs ?? ['out']
  const isStateful = facts.state && facts.state !== 'none'
  return (
    <div
      className={`op role-${catalog?.role ?? 'operator'} ${wrong.length ? state : ''} run-${facts.run?.state ?? 'none'}`}
      onMouseEnter={(event) => tip({ node: id, event })}
      onMouseLeave={() => tip(null)}
    >
      <div className="words">
        <div className="name">
          <span className="text">{breakable(id)}</span>
          {data.isPlaced && (
            <span className="pin" title="Placed manually" aria-hidden="true">
              •
            </span>
          )}
          {isStateful && (
            <span className="keeps" title={`State: ${facts.state}`}>
              state
            </span>
          )}
        </div>
        <div className="foot">
          <div className="title">{catalog?.title ?? `${data.operator}?`}</div>
          {facts.run && <Progress id={id} run={facts.run} />}
        </div>
      </div>
      {wrong.length ? <div className="why">{wrong[0].brief}</div> : <div className="hint">{facts.hint}</div>}
      {facts.since && <div className="since">{facts.since}</div>}
      {facts.run && <Corner state={facts.run.state} />}
      {wrong.length > 0 && (
        <button
          className="mark nodrag"
          aria-label={`Show problems in ${id}`}
          onClick={(event) => {
            event.stopPropagation()
            problems(id)
          }}
        >
          {state === 'wrong' ? '!' : '○'}
        </button>
      )}
      {ports.map((port, at) => (
        <Handle
          key={port}
          id={port}
          type="target"
          position={Position.Left}
          className={data.isTaken[port] ? 'taken' : 'free'}
          style={{ top: `${((at + 1) * 100) / (ports.length + 1)}%` }}
          role="img"
          aria-label={`input ${port} of ${id}`}
          data-port={`${id}.${port}`}
        >
          {ports.length > 1 && <span className="port">{port}</span>}
        </Handle>
      ))}
      {catalog?.role !== 'sink' &&
        outputs.map((port, at) => (
          <Handle
            key={port}
            id={port}
            type="source"
            position={Position.Right}
            className={at > 0 ? 'inserting' : outputClass(facts.mode)}
            style={{ top: `${((at + 1) * 100) / (outputs.length + 1)}%` }}
            data-port={`${id}.${port}`}
            role="img"
            aria-label={
              at > 0 ? `output ${port} of ${id}` : `output of ${id}${facts.mode ? `: ${facts.mode.join(' ')}` : ''}`
            }
          >
            {at > 0 && <span className="port after">{port}</span>}
          </Handle>
        ))}
    </div>
  )
})

/**
 * A name that is broken after its underscores, if it needs two lines.
 *
 * @param {string} name
 */
export const breakable = (name) =>
  name.split(/(?<=_)/).map((part, at) => (
    <Fragment key={at}>
      {at > 0 && <wbr />}
      {part}
    </Fragment>
  ))

/** @param {{ id: string, run: NonNullable<NodeFacts['run']> }} props */
function Progress({ id, run }) {
  return (
    <div className="run">
      <Sign state={run.state} />
      <Records into={run.in} out={run.out} />
      {run.amplification && <span title="records out per record in">×{run.amplification}</span>}
      {run.watermark && (
        <span className="watermark" title={`watermark ${run.watermark}`}>
          watermark {run.watermark.replace('.000', '')}
        </span>
      )}
      <Ledger id={id} count={run.dropped} what="dropped" />
      <Ledger id={id} count={run.used} what="late but used" />
      <Ledger id={id} count={run.rejected} what="rejected" />
      {run.held && <Held id={id} held={run.held} />}
    </div>
  )
}

/**
 * What the state of a node takes, and what has expired of it. A click opens its page.
 *
 * @param {{ id: string, held: NonNullable<NonNullable<NodeFacts['run']>['held']> }} props
 */
function Held({ id, held }) {
  const { open } = useContext(Picture)
  const expired = held.expired > 0 ? ` · ${number(held.expired)} expired` : ''
  return (
    <button
      className="held nodrag"
      title={held.told}
      aria-label={`${id}: state ${held.size}${expired}, show it over the run`}
      onClick={() => open({ state: id })}
    >
      <span className="what">state </span>
      {held.size}
      {expired && <span className="gone">{expired}</span>}
    </button>
  )
}

/** @param {{ state: string }} props */
export const Sign = ({ state }) => (
  <span className={`is-${state}`} title={state}>
    {SIGNS[state] ?? '○'}
  </span>
)

/**
 * The state of a run where a node has no line for its figures: on its lower corner, where it hides no letter.
 *
 * @param {{ state: string }} props
 */
export const Corner = ({ state }) => (
  <div className="corner">
    <Sign state={state} />
  </div>
)

/** @param {{ into: number | null, out: number | null }} props */
export const Records = ({ into, out }) => (
  <>
    {into != null && <span title="records in">{number(into)} in</span>}
    {out != null && <span title="records out">{number(out)} out</span>}
  </>
)

/**
 * The number of records that a node did not take, or took late. A click opens their list.
 *
 * @param {{ id: string, count: number, what: 'dropped' | 'late but used' | 'rejected' }} props
 */
export function Ledger({ id, count, what }) {
  const { open } = useContext(Picture)
  if (!count) return null
  return (
    <button
      className={`${what.replaceAll(' ', '-')} nodrag`}
      aria-label={`${id}: ${count} ${what}, show records`}
      onClick={() => open({ late: id })}
    >
      {number(count)}
      <span className="what"> {what}</span>
    </button>
  )
}

/** @param {NodeFacts['mode']} mode */
function outputClass(mode) {
  if (!mode) return 'free'
  return mode.length > 1 ? 'updating' : 'inserting'
}
