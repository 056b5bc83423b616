// What Python sends (`ui/components/editor`).

/** A name to complete, with its type or signature, and what it does. */
export type Named = { name: string; insert: string; note: string; fields?: Named[] }

/** A place that is wrong, as offsets; valid while the text is `text`. */
export type Wrong = { text: string; start: number; end: number; sentence: string }

export type Field = {
  language: 'flink' | 'duckdb' | 'python'
  /** A line that grows, instead of a page with line numbers. */
  line: boolean
  /** Fields with this name are one for their user; '' for a field of its own. */
  stays: string
  /** By table, its columns. The columns of '' need no table. */
  tables: Record<string, Named[]>
  wrong: Wrong[]
  /** The key of the button that Ctrl+Enter presses, or ''. */
  runs: string
}

export type Fields = {
  fields: Record<string, Field>
  functions: Named[]
  keywords: string[]
  types: string[]
}
