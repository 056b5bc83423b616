// The operators that can be added by drag, double-click or Enter, with a search field.
import { forwardRef, useMemo, useState } from 'react'

export const DRAGGED = 'application/x-changelog-studio-operator'

/** @import { CatalogEntry } from '../types' */

/**
 * The operators that match all the words. Groups with a matching title come first.
 *
 * @param {CatalogEntry[]} operators
 * @param {string} text
 */
export function matching(operators, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const has = (/** @type {string} */ said) => words.every((word) => said.toLowerCase().includes(word))
  const found = operators.filter((each) => has(`${each.title} ${each.operator} ${each.summary} ${each.group}`))
  const called = new Set(found.filter((each) => has(each.title)).map((each) => each.group))
  return found.sort((one, other) => Number(called.has(other.group)) - Number(called.has(one.group)))
}

/**
 * @typedef {object} Props
 * @property {CatalogEntry[]} operators
 * @property {string} where where Enter adds, in words
 * @property {(operator: string) => void} add
 * @property {() => void} leave
 * @property {() => void} fold
 * @property {import('react').ReactNode} children what stands below the entries
 */

export const Palette = forwardRef(function Palette(
  /** @type {Props} */ { operators, where, add, leave, fold, children },
  /** @type {import('react').ForwardedRef<HTMLInputElement>} */ search,
) {
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const found = useMemo(() => matching(operators, text), [operators, text])
  const groups = useMemo(() => grouped(found), [found])
  const take = (/** @type {CatalogEntry} */ each) => {
    add(each.operator)
    setText('')
    setAt(0)
  }
  const onKeyDown = (/** @type {import('react').KeyboardEvent} */ event) => {
    if (event.key === 'Escape') leave()
    else if (event.key === 'ArrowDown') setAt(Math.min(at + 1, found.length - 1))
    else if (event.key === 'ArrowUp') setAt(Math.max(at - 1, 0))
    else if (event.key === 'Enter') {
      if (found[at]) take(found[at])
    } else return
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    <section className="palette" aria-label="Operator palette">
      <div className="search">
        <input
          ref={search}
          type="search"
          value={text}
          placeholder="Search"
          aria-label="Search operators"
          onKeyDown={onKeyDown}
          onChange={(event) => {
            setText(event.target.value)
            setAt(0)
          }}
        />
        <button onClick={fold} aria-label="Hide the palette" title="Hide the palette">
          ‹
        </button>
      </div>
      <div className="where">{where}</div>
      <div className="entries" role="listbox" aria-label="Operators">
        {[...groups].map(([group, members]) => (
          <div key={group} role="group" aria-label={group}>
            <div className="group">{group}</div>
            {members.map((each) => (
              <div
                key={each.operator}
                role="option"
                tabIndex={0}
                draggable
                data-operator={each.operator}
                title={each.summary}
                aria-selected={text !== '' && found[at] === each}
                aria-label={`${each.title}: ${each.summary}`}
                className={`entry role-${each.role}`}
                onDragStart={(event) => {
                  event.dataTransfer.setData(DRAGGED, each.operator)
                  event.dataTransfer.effectAllowed = 'copy'
                }}
                onDoubleClick={() => take(each)}
                onKeyDown={(event) => {
                  if (event.key === 'Enter') {
                    event.preventDefault()
                    take(each)
                  }
                }}
              >
                {each.title}
              </div>
            ))}
          </div>
        ))}
        {!found.length && <div className="empty">No operators match “{text}”.</div>}
      </div>
      {children}
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
