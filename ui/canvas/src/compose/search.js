// What a person finds by words: entries whose texts have all of them, the entries that are called so first.

/**
 * @template T
 * @param {T[]} entries
 * @param {string} text
 * @param {(entry: T) => string[]} said its texts, the most telling one first
 * @param {(entry: T) => string | undefined} [named] what is called exactly so comes before all others
 * @returns {T[]}
 */
export function matching(entries, text, said, named = () => undefined) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  /** @param {T} entry */
  const rank = (entry) => {
    if (named(entry)?.toLowerCase() === words.join(' ')) return -1
    const texts = said(entry).map((each) => each.toLowerCase())
    return Math.max(0, ...words.map((word) => place(texts, word)))
  }
  return entries
    .map((entry) => ({ entry, rank: rank(entry) }))
    .filter((each) => each.rank < Infinity)
    .sort((one, other) => one.rank - other.rank)
    .map((each) => each.entry)
}

// After a beginning in what an entry is called, before one in what is said of it.
const WITHIN = 1.95

/**
 * How far down a word begins one of the texts' words, and how far to the right in that text: what is called `select` comes
 * before what is called `group by select distinct`. Within a word it counts in the first text only, before what only the
 * third text says.
 *
 * @param {string[]} texts
 * @param {string} word
 */
function place(texts, word) {
  const at = texts.findIndex((text) => ` ${text}`.includes(` ${word}`))
  if (at >= 0) return at + Math.min(0.9, ` ${texts[at]}`.indexOf(` ${word}`) / 1000)
  return texts[0].includes(word) ? WITHIN : Infinity
}
