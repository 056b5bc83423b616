import assert from 'node:assert/strict'
import { test } from 'node:test'
import { matching } from '../src/compose/search.js'

const ENTRIES = [
  { title: 'Repeat rows', also: '', summary: 'EXCEPT ALL' },
  { title: 'Windows', also: 'tumble hop', summary: 'Gives each row its windows' },
  { title: 'Match pattern', also: 'cep', summary: 'Finds sequences of rows' },
  { title: 'Aggregate', also: 'group by select distinct', summary: 'Counts' },
  { title: 'Project', also: 'select map', summary: 'Chooses columns of windows' },
]
const found = (/** @type {string} */ text) =>
  matching(ENTRIES, text, (each) => [each.title, each.also, each.summary]).map((each) => each.title)

test('an entry is found by the words of other tools', () => {
  assert.deepEqual(found('tumb'), ['Windows'])
  assert.deepEqual(found('select'), ['Project', 'Aggregate'])
})

test('a word begins where one of the texts has one, and only titles are searched within', () => {
  assert.deepEqual(found('cep'), ['Match pattern'])
  assert.deepEqual(found('ject'), ['Project'])
})

test('a part of a title comes before a word of what is said of an entry', () => {
  const entries = [
    ['Generator', 'datagen', 'with duplicates'],
    ['Deduplicate', 'first row', 'One row per key'],
  ]
  assert.deepEqual(matching(entries, 'dup', (each) => each)[0][0], 'Deduplicate')
})

test('entries that are called so come first', () => assert.deepEqual(found('window'), ['Windows', 'Project']))

test('what is called exactly so comes before what begins with it', () => {
  const commands = [
    { text: 'State of the art' },
    { text: 'What is state?' },
    { text: 'Go to the page State', called: 'State' },
  ]
  const first = matching(
    commands,
    'state',
    ({ text }) => [text],
    ({ called }) => called,
  )[0]
  assert.equal(first.text, 'Go to the page State')
})

test('all words have to be found, in any texts', () => {
  assert.deepEqual(found('window hop'), ['Windows'])
  assert.deepEqual(found('window cep'), [])
})

test('without words, everything is found, in its order', () => assert.equal(found(' ').length, ENTRIES.length))
