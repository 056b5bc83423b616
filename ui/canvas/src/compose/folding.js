// Whether the palette is folded away. The browser remembers it; on a narrow canvas the palette starts folded.
import { useEffect, useRef, useState } from 'react'

const KEPT = 'changelog-studio-palette'
const NARROW = 1100

/** @returns {string | null} */
function kept() {
  try {
    return localStorage.getItem(KEPT)
  } catch {
    return null
  }
}

/** @param {string} value */
function keep(value) {
  try {
    localStorage.setItem(KEPT, value)
  } catch {
    // Without storage, the choice lasts as long as the page.
  }
}

/** @param {import('react').RefObject<HTMLInputElement>} search */
export function useFolding(search) {
  const [isFolded, setFolded] = useState(() => window.innerWidth < NARROW || kept() === 'folded')
  const isWanted = useRef(false)

  // A person who unfolds the palette wants to search.
  useEffect(() => {
    if (!isFolded && isWanted.current) search.current?.focus()
    isWanted.current = false
  }, [isFolded, search])

  const fold = () => {
    keep('folded')
    setFolded(true)
  }
  const unfold = () => {
    if (!isFolded) return search.current?.focus()
    keep('unfolded')
    isWanted.current = true
    setFolded(false)
  }
  return { isFolded, fold, unfold }
}
