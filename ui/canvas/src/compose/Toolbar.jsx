// The buttons over the canvas, for the most common commands.
import { hint } from './keys.js'

/** @import { CanvasData } from '../types' */
/** @import { Commands } from './commands.js' */

/** @param {{ commands: Commands, history: CanvasData['history'] }} props history: unknown until Python has heard all */
export function Toolbar({ commands, history }) {
  return (
    <div className="tools">
      <button className="add" onClick={commands.add} title={`Add a source, an operator or a sink (${hint('add')})`}>
        + Add
      </button>
      <button onClick={commands.undo} disabled={history?.past === 0} title={`Undo the last edit (${hint('undo')})`}>
        Undo
      </button>
      <button onClick={commands.redo} disabled={history?.future === 0} title={`Redo (${hint('redo')})`}>
        Redo
      </button>
      <button onClick={commands.layoutAll} title={`Arrange all nodes automatically (${hint('layoutAll')})`}>
        Auto layout
      </button>
      <button onClick={commands.commands} title={`Search commands and nodes (${hint('commands')})`}>
        Commands
      </button>
      <button onClick={commands.sheet} aria-label="Keyboard shortcuts" title={`Keyboard shortcuts (${hint('sheet')})`}>
        ?
      </button>
    </div>
  )
}
