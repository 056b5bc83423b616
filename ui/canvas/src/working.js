// The document that is shown: Python's, with the edits on top that Python has not answered yet.
import { useCallback, useEffect, useMemo, useState } from 'react'
import { applied } from './document.js'
import { useOutbox } from './outbox.js'

export function useDocument(data, catalog, send) {
  const { post: tell, isSettled } = useOutbox(data.ack, send)
  const [ahead, setAhead] = useState(null)
  const [dismissed, setDismissed] = useState(0)
  const text = JSON.stringify(data.document)
  const theirs = useMemo(() => JSON.parse(text), [text])
  useEffect(() => { if (isSettled) setAhead(null) }, [isSettled, data])
  const document = isSettled || ahead === null ? theirs : ahead
  const post = useCallback((message) => {
    setAhead((before) => applied(before ?? theirs, catalog, message))
    tell(message)
  }, [theirs, catalog, tell])
  const refused = data.refused && data.refused.n > dismissed ? data.refused : null
  const dismiss = useCallback(() => setDismissed(data.refused?.n ?? 0), [data.refused])
  return { document, post, isSettled, refused, dismiss }
}
