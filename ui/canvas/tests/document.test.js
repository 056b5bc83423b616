import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { applied, copied, freeId, renamed } from '../src/document.js'
import { outcome } from './gesture_outcome.js'

/** @import { Pipeline } from '../src/types' */

const file = new URL('../../../tests/ui/gestures.json', import.meta.url)
/** @type {{ catalog: import('../src/types').Catalog, cases: import('./gesture_outcome.js').Case[] }} */
const { catalog, cases } = JSON.parse(readFileSync(file, 'utf8'))

for (const { title, result, refused, ...rest } of cases) {
  test(title, () => assert.deepEqual(outcome({ title, ...rest }, catalog), refused ? { refused } : { result }))
}

/** @type {Pipeline} */
const CHAIN = {
  nodes: [
    { id: 'words', operator: 'rows', parameters: { rows: [['Hello']] }, place: null },
    { id: 'filter_2', operator: 'filter', parameters: {}, place: [300, 40] },
    { id: 'sink', operator: 'sink', parameters: {}, place: null },
  ],
  edges: [
    { source: 'words', out: 'out', target: 'filter_2', port: 'in' },
    { source: 'filter_2', out: 'out', target: 'sink', port: 'in' },
  ],
}

test('what only Python can do leaves the document as it is', () => {
  assert.equal(applied(CHAIN, catalog, { kind: 'undo' }), CHAIN)
  assert.equal(applied(CHAIN, catalog, { kind: 'fix', node: 'sink', label: 'Fill in usual values' }), CHAIN)
})

test('a piece has the edges between its nodes and no others', () => {
  assert.deepEqual(copied(CHAIN, ['filter_2', 'sink']).edges, [CHAIN.edges[1]])
})

test('a copy has the parameters, a free id, and stands aside', () => {
  const { nodes, edges } = renamed(CHAIN, copied(CHAIN, ['words', 'filter_2']), { words: [0, 10] }, 32)
  assert.deepEqual(nodes, [
    { ...CHAIN.nodes[0], id: 'words_2', place: [32, 42] },
    { ...CHAIN.nodes[1], id: 'filter', place: [332, 72] },
  ])
  assert.deepEqual(edges, [{ source: 'words_2', out: 'out', target: 'filter', port: 'in' }])
})

test('copies in one piece do not get the same id', () => {
  const twice = { nodes: [CHAIN.nodes[1], { ...CHAIN.nodes[1], id: 'filter' }], edges: [] }
  const ids = renamed(twice, twice, {}, 32).nodes.map((node) => node.id)
  assert.deepEqual(ids, ['filter_3', 'filter_4'])
})

test('ids are unique whatever their case', () => assert.equal(freeId(CHAIN, 'Words'), 'Words_2'))
