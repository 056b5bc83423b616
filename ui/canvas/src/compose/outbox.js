// What the canvas tells Python, in order and each exactly once, however reruns fall together: every gesture has a
// number; all that Python has not acknowledged are the component's state, and so are told again with every rerun;
// Python takes those it has not seen, and answers with the number of the last.
import { useCallback, useMemo, useRef, useState } from 'react'

// Not crypto.randomUUID: there is none where the app is opened over plain http from another machine.
const newClient = () => [...crypto.getRandomValues(new Uint32Array(3))].map((part) => part.toString(36)).join('')

export function useOutbox(acknowledged, send) {
  const own = useRef(null)
  if (own.current === null) own.current = { client: newClient(), last: 0, waiting: [] }
  const [told, setTold] = useState(own.current.waiting)
  const sender = useRef(send)
  sender.current = send // the setter is another one after every rerun
  const seen = acknowledged?.session === own.current.client ? acknowledged.n : 0
  own.current.waiting = own.current.waiting.filter((gesture) => gesture.n > seen)
  const waiting = useMemo(() => told.filter((gesture) => gesture.n > seen), [told, seen])
  const post = useCallback((gesture) => {
    own.current.last += 1
    own.current.waiting = [...own.current.waiting, { ...gesture, n: own.current.last }]
    setTold(own.current.waiting)
    sender.current({ session: own.current.client, messages: own.current.waiting })
  }, [])
  return { post, waiting, isSettled: seen >= own.current.last }
}
