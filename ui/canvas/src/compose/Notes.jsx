// What is shown over the canvas: a refused connection, a node's problems with fixes.
import { useEffect, useRef } from 'react'

/** @import { Complaint } from '../types' */

/**
 * @typedef {object} NoteContent
 * @property {string} label
 * @property {{ left: number, top: number }} at
 * @property {Complaint[]} entries
 * @property {(label: string) => void} [fix]
 * @property {() => void} close
 */

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
