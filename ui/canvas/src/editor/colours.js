// The colours of words, as the page's theme has them.
import { HighlightStyle } from '@codemirror/language'
import { tags } from '@lezer/highlight'

const colour = (/** @type {string} */ name) => `--st-${name}-text-color`
/** The variables of the theme that words are coloured with. */
export const COLOURS = ['violet', 'blue', 'green', 'orange', 'gray'].map(colour)

export const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.bool, tags.null], color: `var(${colour('violet')})`, fontWeight: '600' },
  { tag: [tags.typeName, tags.className], color: `var(${colour('blue')})` },
  { tag: [tags.standard(tags.name), tags.function(tags.variableName)], color: `var(${colour('blue')})` },
  { tag: [tags.string, tags.special(tags.string)], color: `var(${colour('green')})` },
  { tag: tags.number, color: `var(${colour('orange')})` },
  { tag: tags.comment, color: `var(${colour('gray')})`, fontStyle: 'italic' },
])
