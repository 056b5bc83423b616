// The document that is shown: Python's, plus the gestures that Python has not answered yet.
import { useCallback, useMemo, useState } from 'react'
import { applied } from '../document.js'
import { useOutbox } from './outbox.js'

/** @import { CanvasData, Catalog, Pipeline, Sent } from '../types' */

/**
 * @param {CanvasData} data
 * @param {Catalog} catalog
 * @param {(sent: Sent) => void} send
 */
export function useDocument(data, catalog, send) {
  const { post, waiting, isSettled } = useOutbox(data.ack, send)
  const [dismissed, setDismissed] = useState(0)
  const text = JSON.stringify(data.document)
  /** @type {Pipeline} */
  const theirs = useMemo(() => JSON.parse(text), [text])
  const document = useMemo(
    () => waiting.reduce((before, gesture) => applied(before, catalog, gesture), theirs),
    [theirs, waiting, catalog],
  )
  const refused = data.refused && data.refused.n > dismissed ? data.refused : null
  const dismiss = useCallback(() => setDismissed(data.refused?.n ?? 0), [data.refused])
  return { document, post, isSettled, refused, dismiss }
}
