// The dialogs over the canvas: the command palette and the shortcut sheet.
import { useEffect, useMemo, useRef, useState } from 'react'
import { SHORTCUTS, written } from './keys.js'
import { matching } from './search.js'

/** @import { Command } from '../types' */

/** @param {{ label: string, close: () => void, children: import('react').ReactNode }} props */
function Dialog({ label, close, children }) {
  const box = useRef(/** @type {HTMLDivElement | null} */ (null))
  useEffect(() => (box.current?.querySelector('input') ?? box.current)?.focus(), [])
  const onKeyDown = (/** @type {import('react').KeyboardEvent} */ event) => {
    event.stopPropagation()
    if (event.key === 'Escape') close()
    if (event.key === 'Tab' && Number(box.current?.querySelectorAll('input, button').length) < 2) event.preventDefault()
  }
  return (
    <div
      className="veil"
      onMouseDown={(event) => {
        if (event.target === event.currentTarget) close()
      }}
    >
      <div
        className="dialog"
        role="dialog"
        aria-modal="true"
        aria-label={label}
        tabIndex={-1}
        ref={box}
        onKeyDown={onKeyDown}
      >
        {children}
      </div>
    </div>
  )
}

/** @param {{ commands: Command[], close: () => void }} props */
export function CommandPalette({ commands, close }) {
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const found = useMemo(
    () =>
      matching(
        commands,
        text,
        (each) => [each.text, each.alsoCalled ?? ''],
        (each) => each.called,
      ).slice(0, 60),
    [commands, text],
  )
  const list = useRef(/** @type {HTMLDivElement | null} */ (null))
  useEffect(() => {
    list.current?.children[at]?.scrollIntoView({ block: 'nearest' })
  }, [at])
  const take = (/** @type {Command} */ command) => {
    close()
    command.run()
  }
  const onKeyDown = (/** @type {import('react').KeyboardEvent} */ event) => {
    if (event.key === 'ArrowDown') setAt(Math.min(at + 1, found.length - 1))
    else if (event.key === 'ArrowUp') setAt(Math.max(at - 1, 0))
    else if (event.key === 'Enter') {
      if (found[at]) take(found[at])
    } else return
    event.preventDefault()
  }
  return (
    <Dialog label="Commands" close={close}>
      <input
        type="text"
        role="combobox"
        aria-expanded
        aria-controls="commands"
        aria-activedescendant={found[at] && `command-${at}`}
        value={text}
        aria-label="Search commands and nodes"
        placeholder="Search commands and nodes"
        onKeyDown={onKeyDown}
        onChange={(event) => {
          setText(event.target.value)
          setAt(0)
        }}
      />
      <div className="commands" id="commands" role="listbox" aria-label="Matching commands" ref={list}>
        {found.map((each, place) => (
          <div
            key={each.text}
            id={`command-${place}`}
            role="option"
            aria-selected={place === at}
            className={place === at ? 'command chosen' : 'command'}
            onMouseMove={() => setAt(place)}
            onClick={() => take(each)}
          >
            <span>{each.text}</span>
            {each.keys && <Keys keys={each.keys} />}
          </div>
        ))}
        {!found.length && <div className="empty">No matches for “{text}”.</div>}
      </div>
    </Dialog>
  )
}

/** @param {{ close: () => void }} props */
export function ShortcutSheet({ close }) {
  const groups = [...new Set(SHORTCUTS.map((each) => each.group))]
  return (
    <Dialog label="Keyboard shortcuts" close={close}>
      <h2>Keyboard shortcuts</h2>
      <div className="sheet">
        {groups.map((group) => (
          <section key={group}>
            <h3>{group}</h3>
            {SHORTCUTS.filter((each) => each.group === group).map((each) => (
              <div key={each.id} className="line">
                <span>{each.text}</span>
                <Keys keys={each.keys} />
              </div>
            ))}
            {group === 'Edit' && (
              <div className="line">
                <span>Move the selection</span>
                <Keys keys="arrows" />
              </div>
            )}
          </section>
        ))}
      </div>
      <button onClick={close}>Close</button>
    </Dialog>
  )
}

/** @param {{ keys: string }} props */
const Keys = ({ keys }) => (
  <span className="keys">
    {(keys === 'arrows' ? ['←', '↑', '↓', '→'] : written(keys)).map((key) => (
      <kbd key={key}>{key}</kbd>
    ))}
  </span>
)
