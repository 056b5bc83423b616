// Sends gestures to Python, in order and each exactly once, even when reruns overlap. Every gesture has a number. All
// gestures that Python has not acknowledged are the component's state, so each rerun sends them again. Python applies
// those that it has not seen, and answers with the number of the last one.
import { useCallback, useMemo, useRef, useState } from 'react'

// Not crypto.randomUUID: it does not exist if the app is opened over plain http from another machine.
const newClient = () => [...crypto.getRandomValues(new Uint32Array(3))].map((part) => part.toString(36)).join('')

/** @import { Gesture, Message, Sent } from '../types' */

/**
 * @param {{ session: string, n: number } | undefined} acknowledged
 * @param {(sent: Sent) => void} send
 */
export function useOutbox(acknowledged, send) {
  const [own] = useState(() => ({ client: newClient(), last: 0, waiting: /** @type {Message[]} */ ([]) }))
  const [told, setTold] = useState(own.waiting)
  const sender = useRef(send)
  sender.current = send // the setter is another one after every rerun
  const seen = acknowledged?.session === own.client ? acknowledged.n : 0
  own.waiting = own.waiting.filter((gesture) => gesture.n > seen)
  const waiting = useMemo(() => told.filter((gesture) => gesture.n > seen), [told, seen])
  const post = useCallback(
    (/** @type {Gesture} */ gesture) => {
      own.last += 1
      own.waiting = [...own.waiting, { ...gesture, n: own.last }]
      setTold(own.waiting)
      sender.current({ session: own.client, messages: own.waiting })
    },
    [own],
  )
  return { post, waiting, isSettled: seen >= own.last }
}
