// The canvas as a picture for slides: copied by a key, or saved as a file, in one of both themes.
import { useEffect, useRef, useState } from 'react'
import { ControlButton } from '@xyflow/react'
import { pictured } from './picture.js'
import { take } from './saving.js'

/** @import { Drawing, Places } from '../types' */

/** @typedef {Parameters<typeof pictured>[0] & Pick<Drawing, 'pens'>} Drawn */

const TOLD_MS = 2500

/** @param {{ drawn: () => Drawn, places: Places, name: string, dark: boolean, asked: number }} props asked: by the key, how often */
export function PictureMenu({ drawn, places, name, dark, asked }) {
  const [isOpen, setOpen] = useState(false)
  const [told, setTold] = useState('')
  const [theme, setTheme] = useState(/** @type {'light' | 'dark' | null} */ (null))
  const box = useRef(/** @type {HTMLDivElement | null} */ (null))
  const chosen = theme ?? (dark ? 'dark' : 'light')

  const svg = () => {
    const drawing = drawn()
    const pens = drawing.pens[chosen]
    return pictured(drawing, { pens, places, paper: pens.paper })
  }
  const run = async (/** @type {import('./saving.js').How} */ how) => {
    setTold(await take(how, svg, name))
    setOpen(false)
  }
  const copyIt = () => run('copy')

  const latest = useRef(copyIt)
  useEffect(() => {
    latest.current = copyIt
  })
  useEffect(() => {
    if (asked) latest.current()
  }, [asked])
  useEffect(() => {
    if (!told) return
    const later = setTimeout(() => setTold(''), TOLD_MS)
    return () => clearTimeout(later)
  }, [told])
  const leave = (/** @type {import('react').FocusEvent} */ event) => {
    if (!event.currentTarget.contains(event.relatedTarget)) setOpen(false)
  }
  const close = (/** @type {import('react').KeyboardEvent} */ event) => {
    if (event.key !== 'Escape' || !isOpen) return
    event.stopPropagation()
    setOpen(false)
    box.current?.querySelector('button')?.focus()
  }

  return (
    <div className="picture-menu nodrag nopan" ref={box} onBlur={leave} onKeyDown={close}>
      <ControlButton
        title="As a picture (I copies it)"
        aria-label="As a picture"
        aria-haspopup="menu"
        aria-expanded={isOpen}
        onClick={() => {
          setTold('')
          setOpen(!isOpen)
        }}
      >
        <svg viewBox="0 0 24 24" aria-hidden="true">
          <path d="M9 4 7.5 6H4a2 2 0 0 0-2 2v10a2 2 0 0 0 2 2h16a2 2 0 0 0 2-2V8a2 2 0 0 0-2-2h-3.5L15 4zm3 4.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9" />
        </svg>
      </ControlButton>
      {isOpen && (
        <div className="choices" role="menu" aria-label="As a picture">
          <button role="menuitem" onClick={copyIt}>
            Copy <kbd>I</kbd>
          </button>
          <button role="menuitem" onClick={() => run('png')}>
            Save as PNG
          </button>
          <button role="menuitem" onClick={() => run('svg')}>
            Save as SVG
          </button>
          <button
            role="menuitemcheckbox"
            aria-checked={chosen === 'dark'}
            onClick={() => setTheme(chosen === 'dark' ? 'light' : 'dark')}
          >
            {chosen === 'dark' ? '☑' : '☐'} On dark
          </button>
        </div>
      )}
      <div className="told" role="status">
        {told}
      </div>
    </div>
  )
}
