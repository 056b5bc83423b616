import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recordForms, wrapped } from '../src/time_travel/record_sizes.js'

/** @import { Kind, LitFlowEdge } from '../src/types' */

/** @type {[string, number, string | null][]} */
const TEXTS = [
  ['a, 2, 110', 9, 'a, 2, 110'],
  ['a, 2, 110', 8, 'a, 2,\n110'],
  ['a, 2, 110', 4, 'a,\n2,\n110'],
  ['a, 2, 110', 2, null],
  ['', 4, ''],
]

for (const [text, letters, expected] of TEXTS) {
  test(`"${text}" in lines of ${letters} letters`, () => assert.equal(wrapped(text, letters), expected))
}

const KINDS = /** @type {Kind[]} */ (['-U', '+U'])

/** @param {string} text */
const edgeOf = (text) =>
  /** @type {LitFlowEdge} */ ({ data: { facts: { records: KINDS.map((kind) => ({ kind, text, title: text })) } } })

test('values are cut only where they have no room in several lines', () => {
  const forms = recordForms(edgeOf('berlin, Ada Lovelace, 2, 110'), 1, 12)
  const first = forms.findIndex(({ texts }) => texts?.some((text) => !text.includes('\n')))
  assert.ok(first > 0)
  for (const { texts } of forms.slice(0, first)) {
    assert.equal(texts?.length, 2)
    assert.equal(texts?.[0].replaceAll('\n', ' '), 'berlin, Ada Lovelace, 2, 110')
  }
})

test('a value that is longer than any line is cut', () => {
  for (const { form, texts } of recordForms(edgeOf('x'.repeat(60)), 1, 12)) {
    if (form === 'list') assert.deepEqual(texts, Array(texts?.length).fill('x'.repeat(60)))
  }
})
