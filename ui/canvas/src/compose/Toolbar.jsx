// The buttons over the canvas, for the most common commands.

/** @import { CanvasData } from '../types' */
/** @import { Commands } from './commands.js' */

/** @param {{ commands: Commands, history: CanvasData['history'] }} props history: unknown until Python has heard all */
export function Toolbar({ commands, history }) {
  return (
    <div className="tools">
      <button onClick={commands.undo} disabled={history?.past === 0} title="Undo the last edit (Ctrl+Z)">
        Undo
      </button>
      <button onClick={commands.redo} disabled={history?.future === 0} title="Redo (Ctrl+Shift+Z)">
        Redo
      </button>
      <button onClick={commands.layoutAll} title="Arrange all nodes automatically (Shift+L)">
        Auto layout
      </button>
      <button onClick={commands.commands} title="Search commands and nodes (Ctrl+K)">
        Commands
      </button>
      <button onClick={commands.sheet} aria-label="Keyboard shortcuts" title="Keyboard shortcuts (?)">
        ?
      </button>
    </div>
  )
}
