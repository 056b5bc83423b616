// A node: its name, its operator, how it works, whether it keeps state, what is wrong with it, how its run goes.
import { createContext, memo, useContext } from 'react'
import { Handle, Position } from '@xyflow/react'

export const Picture = createContext(null)

export const number = (value) => value?.toLocaleString('en-US') ?? ''

const SIGNS = { waiting: '○', running: '◐', done: '●', failed: '✕', stopped: '◌' }

export const OpNode = memo(function OpNode({ id, data }) {
  const { tip, problems, open } = useContext(Picture)
  const { catalog, facts } = data
  const wrong = facts.problems ?? []
  const ports = catalog?.ports ?? []
  const outputs = facts.outputs ?? ['out']
  const isStateful = facts.state && facts.state !== 'none'
  return (
    <div
      className={`op role-${catalog?.role ?? 'operator'} ${wrong.length ? 'wrong' : ''} run-${facts.run?.state ?? 'none'}`}
      onMouseEnter={(event) => tip({ node: id, event })}
      onMouseLeave={() => tip(null)}
    >
      <div className="name">
        <span className="text">{id}</span>
        {data.isPlaced && <span className="pin" title="Placed by hand" aria-hidden="true">•</span>}
        {isStateful && <span className="keeps" title={`Keeps state: ${facts.state}`}>state</span>}
      </div>
      <div className="title">{catalog?.title ?? `${data.operator}?`}{facts.strategy && <b> {facts.strategy}</b>}</div>
      {wrong.length ? <div className="why">{wrong[0].sentence}</div> : <div className="hint">{facts.hint}</div>}
      {facts.run && (
        <div className="run">
          <span className={`is-${facts.run.state}`} title={facts.run.state}>{SIGNS[facts.run.state] ?? '○'}</span>
          {facts.run.in != null && <span title="records in">{number(facts.run.in)} in</span>}
          {facts.run.out != null && <span title="records out">{number(facts.run.out)} out</span>}
          {facts.run.amplification && <span title="records out per record in">×{facts.run.amplification}</span>}
          {facts.run.late > 0 && <button className="late nodrag" aria-label={`${id}: ${facts.run.late} late, open the ledger`} onClick={() => open({ late: id })}>{number(facts.run.late)} late</button>}
          {facts.run.rejected > 0 && <button className="rejected nodrag" aria-label={`${id}: ${facts.run.rejected} rejected, open the ledger`} onClick={() => open({ late: id })}>{number(facts.run.rejected)} rejected</button>}
        </div>
      )}
      {wrong.length > 0 && (
        <button className="mark nodrag" aria-label={`What is wrong with ${id}`} onClick={(event) => { event.stopPropagation(); problems(id) }}>!</button>
      )}
      {ports.map((port, at) => (
        <Handle
          key={port} id={port} type="target" position={Position.Left} className={data.isTaken[port] ? 'taken' : 'free'}
          style={{ top: `${((at + 1) * 100) / (ports.length + 1)}%` }} aria-label={`input ${port} of ${id}`} data-port={`${id}.${port}`}
        >
          {ports.length > 1 && <span className="port">{port}</span>}
        </Handle>
      ))}
      {catalog?.role !== 'sink' && outputs.map((port, at) => (
        <Handle
          key={port} id={port} type="source" position={Position.Right} className={at > 0 ? 'inserting' : facts.mode ? (facts.mode.length > 1 ? 'updating' : 'inserting') : 'free'}
          style={{ top: `${((at + 1) * 100) / (outputs.length + 1)}%` }} data-port={`${id}.${port}`}
          aria-label={at > 0 ? `output ${port} of ${id}` : `output of ${id}${facts.mode ? `: ${facts.mode.join(' ')}` : ''}`}
        >
          {at > 0 && <span className="port after">{port}</span>}
        </Handle>
      ))}
    </div>
  )
})
