import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EditorState } from '@codemirror/state'
import { CompletionContext } from '@codemirror/autocomplete'
import { named } from '../src/editor/language.js'

/** @import { CompletionResult } from '@codemirror/autocomplete' */
/** @import { Named } from '../src/editor/types' */

/** @param {string} name @param {Named[]} fields @returns {Named} */
const column = (name, fields = []) => ({ name, insert: name, note: 'STRING', fields })
const geo = column('geo', [column('lat'), column('lon')])
/** @type {Record<string, Named[]>} */
const TABLES = { orders: [column('id'), column('customer', [column('city'), geo])] }

/** @param {string} text @param {Record<string, Named[]>} [tables] */
const offered = (text, tables = TABLES) => {
  const state = EditorState.create({ doc: text })
  const found = /** @type {CompletionResult | null} */ (
    named(tables, [])(new CompletionContext(state, text.length, false))
  )
  return found?.options.filter((option) => option.type === 'property').map((option) => option.label) ?? []
}

test('below a ROW its fields are offered, below a table or an alias its columns', () => {
  assert.deepEqual(offered('SELECT * FROM orders WHERE customer.'), ['city', 'geo'])
  assert.deepEqual(offered('SELECT * FROM orders WHERE customer.geo.'), ['lat', 'lon'])
  assert.deepEqual(offered('SELECT * FROM orders WHERE orders.'), ['id', 'customer'])
  assert.deepEqual(offered('SELECT * FROM orders AS o WHERE o.customer.`geo`.l'), ['lat', 'lon'])
  assert.deepEqual(offered('SELECT * FROM orders WHERE id.'), [])
  assert.deepEqual(offered('customer.', { '': TABLES.orders }), ['city', 'geo'])
})
