import { useLayoutEffect, useRef } from 'react'

/**
 * The newest value of a render, for what runs later than the render: timers and listeners of the window.
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
