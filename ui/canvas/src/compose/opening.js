// Whether the palette is open over the canvas: on an empty one it is, where there is room for both.
import { useEffect, useRef, useState } from 'react'

const NARROW = 700

/**
 * @param {import('react').RefObject<HTMLInputElement>} search
 * @param {boolean} isEmpty
 */
export function usePalette(search, isEmpty) {
  const [isOpen, setOpen] = useState(() => isEmpty && window.innerWidth >= NARROW)
  const isWanted = useRef(false)

  // A person who opens the palette wants to search.
  useEffect(() => {
    if (isOpen && isWanted.current) search.current?.focus()
    isWanted.current = false
  }, [isOpen, search])

  const close = () => setOpen(false)
  const open = () => {
    if (isOpen) return search.current?.focus()
    isWanted.current = true
    setOpen(true)
  }
  return { isOpen, open, close }
}
