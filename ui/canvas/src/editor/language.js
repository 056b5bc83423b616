// The languages: Flink SQL, DuckDB's SQL, Python; and what is completed in SQL.
import { python } from '@codemirror/lang-python'
import { PostgreSQL, SQLDialect, keywordCompletionSource, sql } from '@codemirror/lang-sql'
import { syntaxTree } from '@codemirror/language'

/** @import { CompletionContext, CompletionResult, CompletionSource } from '@codemirror/autocomplete' */
/** @import { Field, Fields, Named } from './types' */

/** @type {{ words: string, dialect: SQLDialect } | null} */
let flink = null

/** @param {Fields} data */
function dialectOf(data) {
  const words = `${data.keywords.join(' ')} | ${data.types.join(' ')}`.toLowerCase()
  if (flink?.words === words) return flink.dialect
  const dialect = SQLDialect.define({
    keywords: data.keywords.join(' ').toLowerCase(),
    types: data.types.join(' ').toLowerCase(),
    builtin: data.functions.map(({ name }) => name.toLowerCase()).join(' '),
    identifierQuotes: '`',
    doubleQuotedStrings: false,
    operatorChars: '*+-%<>!=&|/:',
  })
  flink = { words, dialect }
  return dialect
}

/**
 * The language of a field, with its completion.
 * @param {Field} field
 * @param {Fields} data
 */
export function language(field, data) {
  if (field.language === 'python') return python()
  const dialect = field.language === 'flink' ? dialectOf(data) : PostgreSQL
  const support = sql({ dialect, upperCaseKeywords: true })
  const functions = field.language === 'flink' ? data.functions : []
  return [
    support.language,
    dialect.language.data.of({ autocomplete: named(field.tables, functions) }),
    // A line is an expression: only its columns and functions are worth a list.
    field.line ? [] : dialect.language.data.of({ autocomplete: keywordCompletionSource(dialect, true) }),
  ]
}

/** @param {string} text */
const mentioned = (text) =>
  new Set(text.match(/[\p{L}_][\p{L}\p{N}_]*|`[^`]+`/gu)?.map((word) => word.replaceAll('`', '')) ?? [])

/**
 * Columns of the tables that the statement names, tables, functions.
 * @param {Record<string, Named[]>} tables
 * @param {Named[]} functions
 * @returns {CompletionSource}
 */
export function named(tables, functions) {
  /** @param {CompletionContext} context @returns {CompletionResult | null} */
  return (context) => {
    const at = syntaxTree(context.state).resolveInner(context.pos, -1).name
    if (at === 'String' || at.endsWith('Comment')) return null
    const line = context.state.doc.lineAt(context.pos)
    const isQuoted = line.text.slice(0, context.pos - line.from).split('`').length % 2 === 0
    const word = context.matchBefore(isQuoted ? /`[^`\n]*/u : /[\p{L}_][\p{L}\p{N}_]*/u)
    const from = word?.from ?? context.pos
    const before = context.state.sliceDoc(0, from).match(/(?:(?:[\p{L}_][\p{L}\p{N}_]*|`[^`\n]+`)\.)+$/u)?.[0] ?? ''
    const owners = [...before.matchAll(/`([^`]+)`|[^`.]+/gu)].map(([whole, quoted]) => quoted ?? whole)
    const owner = owners.length > 0
    if (!word && !context.explicit && !owner) return null
    const statement = statementAt(context.state.doc.toString(), from)
    const columns = owner ? below(owners, statement, tables) : columnsIn(statement, tables)
    const options = [
      // In their order, before everything else.
      ...columns.map((each, at) => option(each, 'property', 3 - at / 1000)),
      ...(owner
        ? []
        : Object.keys(tables)
            .filter(Boolean)
            .map((name) => option({ name, insert: plain(name), note: 'table' }, 'class', 2))),
      ...(owner || word?.text.startsWith('`') ? [] : functions.map((each) => option(each, 'function', 1))),
    ]
    return options.length ? { from, options, validFor: /^(`[^`\n]*|[\p{L}\p{N}_]*)$/u } : null
  }
}

/** @param {Named} each @param {string} type @param {number} boost */
const option = ({ name, insert, note }, type, boost) => ({ label: name, apply: insert, detail: note, type, boost })

/** @param {string} name */
const plain = (name) => (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? name : `\`${name.replaceAll('`', '``')}\``)

/** @param {string} text @param {number} at */
function statementAt(text, at) {
  const start = text.lastIndexOf(';', at - 1) + 1
  const end = text.indexOf(';', at)
  return text.slice(start, end < 0 ? undefined : end)
}

/**
 * What stands below a path: the columns of a table or its alias, or the fields of a ROW.
 * @param {string[]} path @param {string} statement @param {Record<string, Named[]>} tables
 */
function below(path, statement, tables) {
  const [first, ...rest] = path
  const inside = (/** @type {Named[]} */ named, /** @type {string} */ name) =>
    named.find((each) => each.name.toLowerCase() === name.toLowerCase())?.fields ?? []
  const fields = path.reduce(inside, columnsIn(statement, tables))
  return fields.length ? fields : rest.reduce(inside, columnsOf(first, statement, tables))
}

/** @param {string} statement @param {Record<string, Named[]>} tables */
function columnsIn(statement, tables) {
  const words = mentioned(statement)
  const found = Object.entries(tables).flatMap(([name, columns]) => (name === '' || words.has(name) ? columns : []))
  return [...new Map(found.map((each) => [each.name, each])).values()]
}

/** @param {string} owner a table or its alias @param {string} statement @param {Record<string, Named[]>} tables */
function columnsOf(owner, statement, tables) {
  if (tables[owner]) return tables[owner]
  const alias = owner.replace(/[^\p{L}\p{N}_]/gu, '')
  const table = statement.match(
    new RegExp(`(\`[^\`]+\`|[\\p{L}_][\\p{L}\\p{N}_]*)\\s+(?:AS\\s+)?${alias}\\b`, 'iu'),
  )?.[1]
  return tables[table?.replaceAll('`', '') ?? ''] ?? []
}
