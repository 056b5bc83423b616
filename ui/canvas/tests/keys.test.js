import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SHORTCUTS, pressed, written } from '../src/compose/keys.js'

/** @param {Partial<KeyboardEvent>} event */
const press = (event) => pressed({ key: '', ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, ...event })

test('no two shortcuts have the same name or the same keys', () => {
  assert.equal(new Set(SHORTCUTS.map((each) => each.id)).size, SHORTCUTS.length)
  assert.equal(new Set(SHORTCUTS.map((each) => each.keys)).size, SHORTCUTS.length)
})

test('Ctrl and the command key are the same, and so are capitals', () => {
  assert.equal(press({ key: 'z', ctrlKey: true }), 'undo')
  assert.equal(press({ key: 'Z', metaKey: true, shiftKey: true }), 'redo')
  assert.equal(press({ key: 'A', ctrlKey: true }), 'all')
})

test('a synonym is its shortcut', () => {
  assert.equal(press({ key: 'Backspace' }), 'delete')
  assert.equal(press({ key: '/' }), 'add')
  assert.equal(press({ key: '?', shiftKey: true }), 'sheet')
  assert.equal(press({ key: '+', shiftKey: true }), 'zoomIn')
})

test('what the page listens for is left to the page', () => {
  assert.equal(press({ key: 's', ctrlKey: true }), undefined)
  assert.equal(press({ key: 'Enter', altKey: true }), undefined)
})

test('keys are written as on a keyboard', () => {
  assert.deepEqual(written('shift+l'), ['Shift', 'L'])
  assert.deepEqual(written('+'), ['+'])
  assert.deepEqual(written('shift+ArrowRight'), ['Shift', '→'])
})
