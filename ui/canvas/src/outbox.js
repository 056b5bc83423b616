// What the canvas tells Python, in order and each exactly once, however reruns fall together: every message has a
// number, all that Python has not acknowledged are sent again with the next, and Python takes those it has not seen.
import { useCallback, useEffect, useRef } from 'react'

export function useOutbox(acknowledged, send) {
  const box = useRef(null)
  if (box.current === null) box.current = { session: crypto.randomUUID(), last: 0, waiting: [] }
  const sender = useRef(send)
  sender.current = send // the setter is another one after every rerun
  const seen = acknowledged?.session === box.current.session ? acknowledged.n : 0
  useEffect(() => {
    box.current.waiting = box.current.waiting.filter((message) => message.n > seen)
  }, [seen])
  const post = useCallback((message) => {
    const own = box.current
    own.last += 1
    own.waiting = [...own.waiting, { ...message, n: own.last }]
    sender.current({ session: own.session, messages: own.waiting })
  }, [])
  return { post, isSettled: seen >= box.current.last, last: box.current }
}
