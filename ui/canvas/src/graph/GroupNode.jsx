// A folded group: its name, what is in it, its worst state, its problems, and the progress of its run.
import { memo, useContext } from 'react'
import { Handle, Position } from '@xyflow/react'
import { Corner, Ledger, Records, Sign, breakable } from './OpNode.jsx'
import { Picture } from './picture.js'

/** @import { NodeProps } from '@xyflow/react' */
/** @import { DrawnNode } from '../types' */

export const GroupNode = memo(function GroupNode(/** @type {NodeProps<DrawnNode>} */ { id, data }) {
  const { fold, tip } = useContext(Picture)
  const { group } = data
  if (!group) return null
  const { name, nodes, ports, outputs, wrong, toDo, run } = group
  const state = wrong ? 'wrong' : toDo ? 'to-do' : ''
  const open = (/** @type {import('react').SyntheticEvent} */ event) => {
    event.stopPropagation()
    fold(name, false)
  }
  return (
    <div
      className={`op folded role-operator ${state} run-${run?.state ?? 'none'}`}
      onMouseEnter={(event) => tip({ node: id, event })}
      onMouseLeave={() => tip(null)}
    >
      <div className="words">
        <div className="name">
          <span className="text">{breakable(name)}</span>
          {group.isStateful && <span className="keeps">state</span>}
          <button
            className="open nodrag"
            aria-label={`Open the group ${name}`}
            title="Open the group (G)"
            onClick={open}
          >
            +
          </button>
        </div>
        <div className="foot">
          <div className="title">
            {nodes.length} {nodes.length === 1 ? 'node' : 'nodes'}
          </div>
          {run && (
            <div className="run">
              <Sign state={run.state} />
              <Records into={run.in} out={run.out} />
              {run.ledgers.map((each) => (
                <Ledger key={each.what} id={each.node} count={each.count} what={each.what} />
              ))}
            </div>
          )}
        </div>
      </div>
      {state ? (
        <div className="why">{wrong ? told(wrong, 'problem') : told(toDo, 'value')} inside</div>
      ) : (
        <div className="hint">{nodes.join(' · ')}</div>
      )}
      {group.isChanged && <div className="since">changed since its run</div>}
      {run && <Corner state={run.state} />}
      {state && (
        <button className="mark nodrag" aria-label={`Show problems in the group ${name}`} onClick={open}>
          {wrong ? '!' : '○'}
        </button>
      )}
      {ports.map((port, at) => (
        <Handle
          key={port}
          id={port}
          type="target"
          position={Position.Left}
          className="taken"
          style={{ top: `${((at + 1) * 100) / (ports.length + 1)}%` }}
          role="img"
          aria-label={`input ${port} of the group ${name}`}
          data-port={`group:${name}.${port}`}
        />
      ))}
      {outputs.map(({ port, isUpdating }, at) => (
        <Handle
          key={port}
          id={port}
          type="source"
          position={Position.Right}
          className={isUpdating ? 'updating' : 'inserting'}
          style={{ top: `${((at + 1) * 100) / (outputs.length + 1)}%` }}
          role="img"
          aria-label={`output ${port} of the group ${name}`}
          data-port={`group:${name}.${port}`}
        />
      ))}
    </div>
  )
})

/**
 * @param {number} count
 * @param {string} what
 */
const told = (count, what) => `${count} ${what}${count === 1 ? '' : 's'}`
