// The operators that can be added by drag, click or Enter, with a search field.
import { forwardRef, useEffect, useMemo, useRef, useState } from 'react'
import { matching } from './search.js'

export const DRAGGED = 'application/x-changelog-studio-operator'

/** @import { CatalogEntry } from '../types' */

/** @param {CatalogEntry} entry */
export const saidOf = ({ title, alsoCalled, operator, summary, group }) => [
  title,
  alsoCalled.join(' '),
  `${operator} ${summary} ${group}`,
]

/**
 * @typedef {object} Props
 * @property {CatalogEntry[]} operators
 * @property {string} where where a click and Enter add, in words
 * @property {(operator: string, isFork: boolean) => void} add isFork: as a further consumer
 * @property {() => void} leave the search field, with Escape
 * @property {() => void} close
 */

export const Palette = forwardRef(function Palette(
  /** @type {Props} */ { operators, where, add, leave, close },
  /** @type {import('react').ForwardedRef<HTMLInputElement>} */ search,
) {
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const [isDragged, setDragged] = useState(false)
  const groups = useMemo(() => grouped(matching(operators, text, saidOf)), [operators, text])
  const found = useMemo(() => [...groups.values()].flat(), [groups])
  const list = useRef(/** @type {HTMLDivElement | null} */ (null))
  useEffect(() => {
    list.current?.querySelectorAll('[role=option]')[at]?.scrollIntoView({ block: 'nearest' })
  }, [at, found])
  const take = (/** @type {CatalogEntry} */ each, isFork = false) => add(each.operator, isFork)
  const onKeyDown = (/** @type {import('react').KeyboardEvent} */ event) => {
    if (event.key === 'Escape') leave()
    else if (event.key === 'ArrowDown') setAt(Math.min(at + 1, found.length - 1))
    else if (event.key === 'ArrowUp') setAt(Math.max(at - 1, 0))
    else if (event.key === 'Enter') {
      if (found[at]) take(found[at], event.shiftKey)
    } else return
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    <section className={`palette ${isDragged ? 'aside' : ''}`} aria-label="Operator palette">
      <div className="search">
        <input
          ref={search}
          type="search"
          role="combobox"
          aria-expanded
          aria-controls="operators"
          aria-activedescendant={found[at] && `operator-${found[at].operator}`}
          value={text}
          placeholder="Search"
          aria-label="Search operators"
          onKeyDown={onKeyDown}
          onChange={(event) => {
            setText(event.target.value)
            setAt(0)
          }}
        />
        <button onClick={close} aria-label="Hide the palette" title="Hide the palette">
          ×
        </button>
      </div>
      <div className="where">{where}</div>
      <div className="entries" id="operators" role="listbox" aria-label="Operators" ref={list}>
        {[...groups].map(([group, members]) => (
          <div key={group} role="group" aria-label={group}>
            <div className="group">{group}</div>
            {members.map((each) => (
              <div
                key={each.operator}
                id={`operator-${each.operator}`}
                role="option"
                draggable
                data-operator={each.operator}
                title={each.summary}
                aria-selected={found[at] === each}
                aria-label={`${each.title}: ${each.summary}`}
                className={`entry role-${each.role}`}
                onDragStart={(event) => {
                  event.dataTransfer.setData(DRAGGED, each.operator)
                  event.dataTransfer.effectAllowed = 'copy'
                  // Not at once: browsers end the drag of what goes away when it begins.
                  setTimeout(() => setDragged(true))
                }}
                onDragEnd={() => setDragged(false)}
                // The second click of a double-click is one too many.
                onClick={(event) => event.detail < 2 && take(each, event.shiftKey)}
              >
                {each.title}
              </div>
            ))}
          </div>
        ))}
        {!found.length && <div className="empty">No operators match “{text}”.</div>}
      </div>
    </section>
  )
})

/** @param {CatalogEntry[]} found */
function grouped(found) {
  /** @type {Map<string, CatalogEntry[]>} */
  const groups = new Map()
  for (const each of found) groups.set(each.group, [...(groups.get(each.group) ?? []), each])
  return groups
}
