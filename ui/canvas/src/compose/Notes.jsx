// What is shown over the canvas: an explanation under the pointer, a refused connection, a node's problems with fixes.
import { useEffect, useRef } from 'react'

/** @import { Complaint, EdgeFacts, NodeFacts } from '../types' */

/** @typedef {{ x: number, y: number, title?: string, facts: NodeFacts & EdgeFacts }} TipContent */

/**
 * @typedef {object} NoteContent
 * @property {string} label
 * @property {{ left: number, top: number }} at
 * @property {Complaint[]} entries
 * @property {(label: string) => void} [fix]
 * @property {() => void} close
 */

/** @param {{ tip: TipContent | null, box: Element }} props */
export function Tip({ tip, box }) {
  if (!tip) return null
  const area = box.getBoundingClientRect()
  const x = Math.min(Math.max(tip.x - area.left + 14, 8), Math.max(8, area.width - 330))
  const isLow = tip.y - area.top > area.height * 0.55
  const style = { left: x, ...(isLow ? { bottom: area.bottom - tip.y + 14 } : { top: tip.y - area.top + 14 }) }
  const { facts } = tip
  return (
    <div className="tip" role="tooltip" style={style}>
      <div className="head">{tip.title}</div>
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
      {facts.columns && (
        <table>
          <tbody>
            {facts.columns.map(([name, type, note]) => (
              <tr key={name}>
                <td>{name}</td>
                <td>{type}</td>
                <td>{note}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {facts.error && <p className="why">{facts.error}</p>}
    </div>
  )
}

/** @param {NoteContent} props */
export function Note({ label, at, entries, fix, close }) {
  const box = useRef(/** @type {HTMLDivElement | null} */ (null))
  useEffect(() => {
    box.current?.querySelector('button')?.focus()
  }, [label])
  return (
    <div
      className="note"
      role="alertdialog"
      aria-label={label}
      ref={box}
      style={at}
      onKeyDown={(event) => {
        event.stopPropagation()
        if (event.key === 'Escape') close()
      }}
    >
      {entries.map((entry) => (
        <div key={entry.sentence} className="entry">
          <p>{entry.sentence}</p>
          {fix && !!entry.fixes?.length && (
            <div className="fixes">
              {entry.fixes.map((text) => (
                <button key={text} className="fix" onClick={() => fix(text)}>
                  {text}
                </button>
              ))}
            </div>
          )}
        </div>
      ))}
      <button className="close" aria-label="Close" onClick={close}>
        ×
      </button>
    </div>
  )
}
