import { useLayoutEffect, useRef } from 'react'

/**
 * The value of the newest render, for code that runs later: timers and listeners of the window.
 *
 * @template T
 * @param {T} value
 */
export function useLatest(value) {
  const latest = useRef(value)
  useLayoutEffect(() => {
    latest.current = value
  })
  return latest
}
